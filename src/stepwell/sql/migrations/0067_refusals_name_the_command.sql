-- The refusal of a cancel names the command that asks for the approval, and the one that uses it. A text that an installation
-- has changed stays.
update stepwell.i18n_text as t set text_value = n.new_text
from (values
    ('en', 'a granted approval of the action workflow_cancel is required',
        'a granted approval of the action workflow_cancel is required: ask for it with `stepwell approvals request workflow_cancel {ref}`, then cancel with --approval'),
    ('vi', 'cần phê duyệt cho hành động workflow_cancel',
        'cần phê duyệt cho hành động workflow_cancel: hãy yêu cầu bằng `stepwell approvals request workflow_cancel {ref}`, rồi hủy với --approval')
) as n (lang, old_text, new_text)
where t.text_key = 'guard.cancel_authorised' and t.lang = n.lang and t.text_value = n.old_text;
