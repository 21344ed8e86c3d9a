"""What `typing` has only since Python 3.11."""

import sys

if sys.version_info >= (3, 11):
    from typing import Required as Required
    from typing import Unpack as Unpack
else:
    from typing_extensions import Required as Required
    from typing_extensions import Unpack as Unpack
