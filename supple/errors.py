"""The exceptions that users of supple may catch."""

from supple.base.errors import BackendCompilerFailed as BackendCompilerFailed
from supple.base.errors import ConstraintViolationError as ConstraintViolationError
from supple.base.errors import Explained as Explained
from supple.base.errors import FailOnRecompileLimitHit as FailOnRecompileLimitHit
from supple.base.errors import InternalError as InternalError
from supple.base.errors import InvalidBackendError as InvalidBackendError
from supple.base.errors import MemoryFault as MemoryFault
from supple.base.errors import OptionsError as OptionsError
from supple.base.errors import Reason as Reason
from supple.base.errors import RecompileError as RecompileError
from supple.base.errors import SuppleError as SuppleError
from supple.base.errors import Unsupported as Unsupported
from supple.base.errors import UserError as UserError
from supple.base.errors import VerificationError as VerificationError
from supple.base.errors import Where as Where
