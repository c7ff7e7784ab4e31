from .auditing import Instants as Instants
from .auditing import audit as audit
from .auditing import glance as glance
from .auditing import merged as merged
from .certificate import Certificate as Certificate
from .samples import audit_samples as audit_samples
