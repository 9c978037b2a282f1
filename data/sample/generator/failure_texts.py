"""Templates of failure output by reason, worded like the output of the named programs.

Placeholders: {script}, {data}, {ckpt}, {module}, {host}, {rank}, {step}, {gib}, {pid}, {n}.
"""

FRAME = 'Traceback (most recent call last):\n  File "{script}", line {n}, in <module>\n'

ROOTS: dict[str, tuple[str, ...]] = {
    "CPU out of memory": (
        FRAME + "MemoryError: Unable to allocate {gib}.0 GiB for an array with shape ({pid}, 1024)",
        "{script}: host buffer of {gib} GiB refused\nterminate called after throwing an instance "
        "of 'std::bad_alloc'\n  what():  std::bad_alloc\nAborted (core dumped)",
        "[{pid}.{n}] Memory cgroup out of memory: Killed process {pid} (python) "
        "total-vm:{pid}000kB, anon-rss:{pid}00kB",
        FRAME + "OSError: [Errno 12] Cannot allocate memory",
        FRAME + "RuntimeError: DataLoader worker (pid {pid}) is killed by signal: Killed.",
    ),
    "Incorrect inputs": (
        FRAME + "FileNotFoundError: [Errno 2] No such file or directory: '{data}'",
        "java.io.FileNotFoundException: File does not exist: hdfs://{host}{data}",
        FRAME + "tensorflow.python.framework.errors_impl.DataLossError: truncated record at {pid}",
        FRAME + "OSError: cannot identify image file '{data}'",
        "F1105 03:11:09.1200 {pid} db_lmdb.hpp:15] Check failed: mdb_status == 0 ({n} vs. 0) "
        "MDB_INVALID: File is not an LMDB file",
        FRAME + "ValueError: data file {data} does not exist",
    ),
    "Semantic error": (
        FRAME + "TypeError: __init__() got an unexpected keyword argument 'dropout_{n}'",
        FRAME + "AttributeError: module 'tensorflow' has no attribute 'estimator_{n}'",
        FRAME + "ValueError: Dimensions must be equal, but are {pid} and {n} for 'fc/MatMul'",
        FRAME + "RuntimeError: size mismatch, m1: [{n} x {pid}], m2: [{n} x 1000]",
        "usage: {script} [-h]\n{script}: error: unrecognized arguments: --warmup-{n}",
    ),
    "Core dump": (
        "*** Error in `python': double free or corruption (!prev): 0x00007f{pid} ***\n"
        "Aborted (core dumped)",
        "run.sh: line {n}: {pid} Illegal instruction     (core dumped) python {script}",
        "run.sh: line {n}: {pid} Aborted                 (core dumped) python {script}",
        "Floating point exception (core dumped)",
    ),
    "Invalid memory access": (
        "run.sh: line {n}: {pid} Segmentation fault      (core dumped) python {script}",
        FRAME + "RuntimeError: CUDA error: an illegal memory access was encountered",
        "[{host}:{pid}] *** Process received signal ***\n"
        "[{host}:{pid}] Signal: Segmentation fault (11)\n"
        "[{host}:{pid}] Failing at address: 0x{pid}",
        "EXCEPTION occurred: CUDA failure 77: an illegal memory access ; GPU={rank}",
    ),
    "Model checkpoint error": (
        "Saving checkpoint at step {step} to {ckpt}\n"
        + FRAME
        + "OSError: [Errno 28] No space left on device",
        "org.apache.hadoop.ipc.RemoteException(java.io.IOException): File {ckpt}.tmp could only "
        "be replicated to 0 nodes instead of minReplication (=1).",
        "org.apache.hadoop.hdfs.server.namenode.SafeModeException: Cannot create file{ckpt}. "
        "Name node is in safe mode.",
        "F1105 03:11:09.1200 {pid} io.cpp:66] Check failed: proto.SerializeToOstream(&output)\n"
        "*** Check failure stack trace: ***",
        "EXCEPTION occurred: error renaming file '{ckpt}.tmp' to '{ckpt}'",
    ),
    "CUDA failure": (
        FRAME + "RuntimeError: CUDA error: device-side assert triggered",
        "F1105 03:11:09.1200 {pid} math_functions.cu:{n}] Check failed: "
        "status == CUBLAS_STATUS_SUCCESS (13 vs. 0)  CUBLAS_STATUS_EXECUTION_FAILED",
        FRAME + "RuntimeError: cuda runtime error (4) : unspecified launch failure at THC.c:{n}",
        FRAME + "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
    ),
    "Syntax error": (
        '  File "{script}", line {n}\n    print loss\nSyntaxError: invalid syntax',
        '  File "{script}", line {n}\nIndentationError: unexpected indent',
        "[libprotobuf ERROR google/protobuf/text_format.cc:287] Error parsing text-format "
        "caffe.NetParameter: {n}:1: Expected identifier, got: }}",
    ),
    "Traceback from crash": (
        FRAME + "KeyError: 'label_{n}'",
        FRAME + "IndexError: list index out of range",
        FRAME + "ZeroDivisionError: integer division or modulo by zero",
        FRAME + "ValueError: too many values to unpack (expected {rank})",
    ),
    "MPI error": (
        "[{host}:{pid}] *** An error occurred in MPI_Allreduce\n"
        "[{host}:{pid}] *** MPI_ERR_TRUNCATE: message truncated",
        "Fatal error in PMPI_Bcast: Invalid root, error stack:",
        FRAME + "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:{n}, invalid usage, "
        "NCCL version 2.1.2",
    ),
    "GPU out of memory": (
        FRAME + "RuntimeError: CUDA out of memory. Tried to allocate {gib}.00 GiB (GPU {rank}; "
        "11.90 GiB total capacity)",
        FRAME + "ResourceExhaustedError (see above for traceback): OOM when allocating tensor "
        "with shape[{n},512,28,28]",
        "F1105 03:11:09.1200 {pid} syncedmem.cpp:56] Check failed: error == cudaSuccess (2 vs. 0)"
        "  out of memory",
    ),
    "MPI runtime failure": (
        "ORTE has lost communication with a remote daemon.\n\n"
        "  HNP daemon   : [[{n},0],0] on node {host}",
        FRAME + "ConnectionResetError: [Errno 104] Connection reset by peer",
        "[{host}][[{n},1],{rank}][btl_tcp_frag.c:237:mca_btl_tcp_frag_recv] "
        "mca_btl_tcp_frag_recv: readv failed: Connection timed out (110)",
        "W tensorflow/core/framework/op_kernel.cc:993] Unavailable: Endpoint read failed",
    ),
    "Permission error": (
        FRAME + "PermissionError: [Errno 13] Permission denied: '{data}'",
        "org.apache.hadoop.security.AccessControlException: Permission denied: user=exp, "
        'access=WRITE, inode="{data}"',
    ),
    "Import error": (
        FRAME + "ModuleNotFoundError: No module named '{module}'",
        FRAME + "ImportError: cannot import name '{module}'",
    ),
    "Job preempted": (
        "Container container_e07_{pid}_0001_01_{n} preempted by scheduler, exitStatus=-102",
    ),
    "CUDA initialization failed": (
        FRAME + "RuntimeError: cuda runtime error (38) : no CUDA-capable device is detected",
        "F1105 03:11:09.1200 {pid} common.cpp:66] Check failed: error == cudaSuccess (38 vs. 0)"
        "  no CUDA-capable device is detected",
        FRAME + "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable",
    ),
    "Model diverged": (
        "ERROR:tensorflow:Model diverged with loss = NaN.\n"
        + FRAME
        + "NanLossDuringTrainingError: NaN loss during training.",
        "EXCEPTION occurred: The training criterion is not a number (NAN).",
    ),
    "CUDA version mismatch": (
        FRAME + "RuntimeError: cuda runtime error (35) : CUDA driver version is insufficient for "
        "CUDA runtime version",
    ),
    "GPU ECC error": (FRAME + "RuntimeError: CUDA error: uncorrectable ECC error encountered",),
    "Output node error": (
        FRAME + "KeyError: \"The name 'out_{n}:0' refers to a Tensor which does not exist. The "
        "operation, 'out_{n}', does not exist in the graph.\"",
    ),
    "Cannot load libraries": (
        FRAME + "ImportError: libcudnn.so.{rank}: cannot open shared object file: No such file or "
        "directory",
    ),
    "No signature": (
        "run.sh: line {n}: {pid} Killed                  python {script}",
        "Container exited with a non-zero exit code 1",
        "worker {rank} stopped",
    ),
}
"""What decides, by the study's reason."""

CASCADES: tuple[str, ...] = (
    "-------------------------------------------------------\n"
    "Primary job  terminated normally, but 1 process returned\n"
    "a non-zero exit code. Per user-direction, the job has been aborted.\n"
    "-------------------------------------------------------",
    "MPI_ABORT was invoked on rank {rank} in communicator MPI_COMM_WORLD with errorcode 1.",
    "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
    "the job to be terminated.",
)
"""What launchers print of gangs after a rank has failed."""

BANNERS: tuple[str, ...] = (
    "reading configuration, {n} parameters set",
    "INFO:tensorflow:Using config with seed {pid}",
    "I1105 03:11:09.1200 {pid} solver.cpp:48] Initializing solver",
    "=> creating model 'net{n}', batch size {rank}",
)
PROGRESS: tuple[str, ...] = (
    "epoch {epoch} step {step} loss {loss:.4f}",
    "I1105 03:11:09.1200 {pid} solver.cpp:218] Iteration {step}, loss = {loss:.4f}",
    "INFO:tensorflow:loss = {loss:.4f}, step = {step}",
)
