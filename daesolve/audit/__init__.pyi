from .auditing import audit as audit
from .auditing import merged as merged
from .certificate import Certificate as Certificate
