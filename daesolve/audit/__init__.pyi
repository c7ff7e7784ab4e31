from .auditing import audit as audit
from .certificate import Certificate as Certificate
from .findings import Audit as Audit
from .findings import Finding as Finding
from .findings import Verdict as Verdict
