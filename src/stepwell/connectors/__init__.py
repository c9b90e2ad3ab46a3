"""Connectors to other systems: each receives an action that policy has allowed, and returns its effect.

`from stepwell.connectors import HttpConnector, SecretRef`; a name is imported when it is used first.
"""

from typing import TYPE_CHECKING

from stepwell.lazy import lazy_names

if TYPE_CHECKING:
    from stepwell.connectors.base import (
        Action,
        Connector,
        Effect,
        EffectRefused,
        EffectUnavailable,
        EffectUnknown,
        OperationSpec,
        Reversal,
        Usage,
    )
    from stepwell.connectors.email import EmailConnector, SmtpSecurity
    from stepwell.connectors.http import (
        HttpConfirm,
        HttpConnector,
        HttpHeader,
        HttpInverse,
        HttpOperation,
    )
    from stepwell.connectors.model import ModelConnector, ModelPrice
    from stepwell.connectors.secrets import SecretMissing, SecretRef
    from stepwell.connectors.servicenow import ServiceNowConnector
    from stepwell.connectors.slack import SlackConnector
    from stepwell.connectors.transport import HttpLimits

_HOMES = {
    "stepwell.connectors.base": (
        "Action",
        "Connector",
        "Effect",
        "EffectRefused",
        "EffectUnavailable",
        "EffectUnknown",
        "OperationSpec",
        "Reversal",
        "Usage",
    ),
    "stepwell.connectors.email": ("EmailConnector", "SmtpSecurity"),
    "stepwell.connectors.http": (
        "HttpConfirm",
        "HttpConnector",
        "HttpHeader",
        "HttpInverse",
        "HttpOperation",
    ),
    "stepwell.connectors.model": ("ModelConnector", "ModelPrice"),
    "stepwell.connectors.secrets": ("SecretMissing", "SecretRef"),
    "stepwell.connectors.servicenow": ("ServiceNowConnector",),
    "stepwell.connectors.slack": ("SlackConnector",),
    "stepwell.connectors.transport": ("HttpLimits",),
}

__all__ = [
    "Action",
    "Connector",
    "Effect",
    "EffectRefused",
    "EffectUnavailable",
    "EffectUnknown",
    "EmailConnector",
    "HttpConfirm",
    "HttpConnector",
    "HttpHeader",
    "HttpInverse",
    "HttpLimits",
    "HttpOperation",
    "ModelConnector",
    "ModelPrice",
    "OperationSpec",
    "Reversal",
    "SecretMissing",
    "SecretRef",
    "ServiceNowConnector",
    "SlackConnector",
    "SmtpSecurity",
    "Usage",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
