-- More names of secrets; an installation that has changed the setting keeps its own.
update stepwell.dot_config set config_value = to_jsonb(
    '((password|passwd|passphrase|passcode|pwd|secret|api[_-]?key|(access|private|secret|signing|encryption|master)[_-]?key'
    '|credential|cookie|(access|refresh|auth|bearer|api)[_-]?token)s?|token|authorization|auth|session([_-]?id)?|jwt|bearer'
    '|(^|[_-])(pass|pw|otp))([_-]?(value|text|plain|raw|old|new|current|header|string|base64|hex|[0-9]{1,3}))?$'::text)
where config_key = 'redaction.key_pattern' and config_value = to_jsonb(
    '((password|passwd|passphrase|passcode|pwd|secret|api[_-]?key|(access|private|secret|signing|encryption|master)[_-]?key'
    '|credential|cookie)s?|token|authorization|auth|session([_-]?id)?|jwt|(^|[_-])(pass|pw|otp))$'::text);
