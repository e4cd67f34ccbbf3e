"""torchrun inside one pod: `python -m trainer.agent`, started by the entrypoint with the pod's topology."""

import os
import sys
from pathlib import Path

from torch.distributed import DistError
from torch.distributed import run as torchrun
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from trainer import report
from trainer.errors import EXIT_FAILED, EXIT_OK, EXIT_TERMINATED
from trainer.report import ExitReport


def main(arguments: list[str]) -> int:
    """Run torchrun to its end; leaves a report where the workers could not."""
    try:
        torchrun.run(torchrun.parse_args(arguments))
    except ChildFailedError:
        return EXIT_FAILED
    except SignalException:
        return EXIT_TERMINATED
    except DistError as error:
        first_line = str(error).splitlines()[0]
        message = f"rendezvous: the pods of this run did not all meet at the master's address: {first_line}"
        report.write(Path(os.environ[report.DIRECTORY_VARIABLE]), ExitReport("agent", EXIT_FAILED, message))
        return EXIT_FAILED
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
