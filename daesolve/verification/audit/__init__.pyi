from .certificate import Certificate as Certificate
from .run_audit import Instants as Instants
from .run_audit import audit as audit
from .run_audit import glance as glance
from .run_audit import merged as merged
from .sample_audit import audit_samples as audit_samples
