"""The study's reasons of failure and the tiers that each belongs to (ATC'19, Table 7)."""

from dataclasses import dataclass

from philly_analysis.study import Tier

NO_SIGNATURE = "No signature"


@dataclass(frozen=True, slots=True)
class Reason:
    """A category of the study: its printed name, its tiers, and its meaning."""

    name: str
    tiers: tuple[Tier, ...]
    meaning: str


REASONS: tuple[Reason, ...] = (
    Reason("CPU out of memory", ("AE", "U"), "host or shared memory is exhausted"),
    Reason("Incorrect inputs", ("IF", "U"), "data, model or script missing, unreadable, malformed"),
    Reason("Semantic error", ("IF", "U"), "versions, shapes, devices or settings do not fit"),
    Reason("Core dump", ("AE", "U"), "aborted by the C library or a signal, cause not printed"),
    Reason("Invalid memory access", ("U",), "SIGSEGV, CUDA illegal address, GPU MMU fault"),
    Reason("Model checkpoint error", ("IF",), "writing a checkpoint or model file fails"),
    Reason("CUDA failure", ("AE",), "another error of CUDA, its libraries or the driver"),
    Reason("Syntax error", ("IF", "U"), "program or configuration text cannot be parsed"),
    Reason("Traceback from crash", ("IF", "AE", "U"), "an exception that fits no other reason"),
    Reason("MPI error", ("IF",), "an MPI, NCCL or Horovod call is wrong or returns an error"),
    Reason("GPU out of memory", ("AE",), "device memory allocation fails for good"),
    Reason("MPI runtime failure", ("IF",), "the connection to a peer, daemon or store fails"),
    Reason("Permission error", ("U",), "file access or credentials refused"),
    Reason("Import error", ("IF", "U"), "a module or a name in it cannot be imported"),
    Reason("Job preempted", ("IF",), "the scheduler reports that it reclaimed the resources"),
    Reason("CUDA initialization failed", ("AE",), "no usable device, context or handle"),
    Reason("Model diverged", ("U",), "loss or gradients not finite"),
    Reason("CUDA version mismatch", ("AE",), "driver, runtime and toolkit versions do not fit"),
    Reason("GPU ECC error", ("AE",), "uncorrectable memory error of the GPU"),
    Reason("Output node error", ("U",), "a named output of the graph does not exist"),
    Reason("Cannot load libraries", ("AE",), "a shared library or symbol is missing"),
    Reason(NO_SIGNATURE, (), "no line names a cause"),
)

_BY_NAME = {reason.name: reason for reason in REASONS}


def tiers_of(reason: str) -> tuple[Tier, ...]:
    """Return the tiers of a reason; none for *No signature*."""
    return _BY_NAME[reason].tiers
