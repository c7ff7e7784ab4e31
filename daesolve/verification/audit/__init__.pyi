from .auditing import audit as audit
from .auditing import merged as merged
from .certificate import Certificate as Certificate
from .glancing import Instants as Instants
from .glancing import glance as glance
from .samples import audit_samples as audit_samples
