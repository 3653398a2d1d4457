; The one function that Python calls to run any kernel: integers in, threads where there is work for them.
;
; It is written once for all kernels, in the C API's METH_FASTCALL form, and reads what it runs from a
; descriptor (made by `runtime.load`): the kernel's address; that of its function of units, or 0; the number
; of units, negative where they stay on this thread; the chunk that threads may not split; how many integers
; it takes.
;
; An integer of -1 is the one that PyLong_AsLongLong also gives for errors.

declare ptr @PyBytes_AsString(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyErr_Occurred()
declare i32 @PyErr_BadArgument()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @GOMP_parallel(ptr, ptr, i32, i32)
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()
@_Py_NoneStruct = external global i8

%descriptor = type { ptr, ptr, i64, i64, i64 }
%team = type { ptr, ptr, i64, i64 }

define ptr @supple_launch(ptr %self, ptr %objects, i64 %count) nounwind {
entry:
  %d = call ptr @PyBytes_AsString(ptr %self)
  %team = alloca %team, align 8
  %p.expected = getelementptr %descriptor, ptr %d, i64 0, i32 4
  %expected = load i64, ptr %p.expected, align 8
  %fits = icmp eq i64 %count, %expected
  br i1 %fits, label %room, label %bad
room:
  %at.least.1 = call i64 @llvm.smax.i64(i64 %count, i64 1)
  %integers = alloca i64, i64 %at.least.1, align 8
  %is.empty = icmp eq i64 %count, 0
  br i1 %is.empty, label %ready, label %unpack
unpack:
  %n = phi i64 [ 0, %room ], [ %n.next, %stored ]
  %p.object = getelementptr ptr, ptr %objects, i64 %n
  %object = load ptr, ptr %p.object, align 8
  %integer = call i64 @PyLong_AsLongLong(ptr %object)
  %is.odd = icmp eq i64 %integer, -1
  br i1 %is.odd, label %check, label %stored
check:
  %error = call ptr @PyErr_Occurred()
  %is.fine = icmp eq ptr %error, null
  br i1 %is.fine, label %stored, label %failed
stored:
  %p.integer = getelementptr i64, ptr %integers, i64 %n
  store i64 %integer, ptr %p.integer, align 8
  %n.next = add i64 %n, 1
  %is.last = icmp eq i64 %n.next, %count
  br i1 %is.last, label %ready, label %unpack
ready:
  %python = call ptr @PyEval_SaveThread()
  %kernel = load ptr, ptr %d, align 8
  %p.function = getelementptr %descriptor, ptr %d, i64 0, i32 1
  %function = load ptr, ptr %p.function, align 8
  %is.known = icmp eq ptr %function, null
  br i1 %is.known, label %known, label %asked
known:
  %p.total = getelementptr %descriptor, ptr %d, i64 0, i32 2
  %total.known = load i64, ptr %p.total, align 8
  br label %run
asked:
  %total.asked = call i64 %function(ptr %integers)
  br label %run
run:
  %total = phi i64 [ %total.known, %known ], [ %total.asked, %asked ]
  %is.parallel = icmp sgt i64 %total, 0
  br i1 %is.parallel, label %fork, label %alone
alone:
  %all = sub i64 0, %total
  %is.nothing = icmp eq i64 %total, 0
  br i1 %is.nothing, label %done, label %direct
direct:
  call void %kernel(ptr %integers, i64 0, i64 %all)
  br label %done
fork:
  %p.chunk = getelementptr %descriptor, ptr %d, i64 0, i32 3
  %chunk = load i64, ptr %p.chunk, align 8
  store ptr %kernel, ptr %team, align 8
  %team.integers = getelementptr %team, ptr %team, i64 0, i32 1
  store ptr %integers, ptr %team.integers, align 8
  %team.total = getelementptr %team, ptr %team, i64 0, i32 2
  store i64 %total, ptr %team.total, align 8
  %team.chunk = getelementptr %team, ptr %team, i64 0, i32 3
  store i64 %chunk, ptr %team.chunk, align 8
  call void @GOMP_parallel(ptr @supple_member, ptr %team, i32 0, i32 0)
  br label %done
done:
  call void @PyEval_RestoreThread(ptr %python)
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
bad:
  %ignored = call i32 @PyErr_BadArgument()
  br label %failed
failed:
  ret ptr null
}

define internal void @supple_member(ptr %team) nounwind {
entry:
  %kernel = load ptr, ptr %team, align 8
  %p.integers = getelementptr %team, ptr %team, i64 0, i32 1
  %integers = load ptr, ptr %p.integers, align 8
  %p.total = getelementptr %team, ptr %team, i64 0, i32 2
  %total = load i64, ptr %p.total, align 8
  %p.chunk = getelementptr %team, ptr %team, i64 0, i32 3
  %chunk = load i64, ptr %p.chunk, align 8
  %number.32 = call i32 @omp_get_thread_num()
  %number = zext i32 %number.32 to i64
  %members.32 = call i32 @omp_get_num_threads()
  %members = zext i32 %members.32 to i64
  %round = mul i64 %members, %chunk
  %raised = add i64 %total, %round
  %below = sub i64 %raised, 1
  %chunks = udiv i64 %below, %round
  %share = mul i64 %chunks, %chunk
  %begin = mul i64 %number, %share
  %beyond = add i64 %begin, %share
  %end = call i64 @llvm.smin.i64(i64 %beyond, i64 %total)
  %has.work = icmp slt i64 %begin, %end
  br i1 %has.work, label %work, label %done
work:
  call void %kernel(ptr %integers, i64 %begin, i64 %end)
  br label %done
done:
  ret void
}
