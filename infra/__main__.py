"""The Pulumi program: settings, environment, outputs."""

import pulumi

from infra.environment import deploy
from infra.errors import TrainyardError
from infra.settings.stack import parse_stack


def main() -> None:
    """Declare the selected stack; an error that a user can act on ends the program without a traceback."""
    stack = pulumi.get_stack()
    declared = pulumi.Config("trainyard").get_object("stack")
    try:
        settings = parse_stack(declared, origin=f"stacks/Pulumi.{stack}.yaml")
        environment = deploy(settings, stack=stack)
    except TrainyardError as error:
        raise pulumi.RunError(str(error)) from None
    pulumi.export("runs", environment.runs)


main()
