import sys

from airbyte_cdk import launch

from tidemark_airbyte import Tidemark

launch(Tidemark(), sys.argv[1:])
