-- What people read when a state change is refused: what the unit is called, a frame, and a clause for each reason. The clause of a guard says what
-- the guard requires. Places: {unit} what is refused, {state} its state, {to_state} the state asked for, {actor} who asks,
-- {pic} the person in charge, {takers} who may take it, {roles} the roles that oversee, {problem} what exactly is wrong.

insert into stepwell.i18n_text (text_key, lang, text_value)
select
    t.text_key,
    l.lang,
    case l.lang when 'vi' then t.vi else t.en end
from (values
    ('title.workflow_run', 'run {run}', 'lượt chạy {run}'),
    ('title.step', 'step ''{step}'' of run {run}', 'bước ''{step}'' của lượt chạy {run}'),
    ('title.task', 'task ''{task}'' of step ''{step}'' of run {run}', 'việc ''{task}'' của bước ''{step}'' của lượt chạy {run}'),
    ('title.job', 'job {number} ({operation})', 'công việc {number} ({operation})'),
    ('title.approval', 'approval {number}', 'phê duyệt {number}'),
    ('title.proposal', 'proposal {number}', 'đề xuất {number}'),
    ('title.receipt', 'receipt {number}', 'biên nhận {number}'),
    ('refusal.change', '{unit} cannot become {to_state}: {reasons}', '{unit} không thể chuyển sang {to_state}: {reasons}'),
    ('refusal.call', '{unit}: {reasons}', '{unit}: {reasons}'),
    ('refusal.nobody', 'nobody yet', 'chưa có ai'),
    ('refusal.anybody', 'anybody', 'bất kỳ ai'),
    ('refusal.unit_not_found', 'it does not exist', 'mục này không tồn tại'),
    ('refusal.state_is', 'it is {state} now', 'hiện ở trạng thái {state}'),
    ('refusal.run_kind_is', 'it is not what the call expects', 'mục này không đúng loại mà lệnh gọi cần'),
    ('refusal.lease_lost', 'this worker does not have the lease any more', 'worker này không còn giữ quyền thực hiện'),
    ('refusal.no_transition', 'it is {state}; from there you can make it: {next}',
        'hiện ở trạng thái {state}; từ đó chỉ có thể chuyển sang: {next}'),
    ('refusal.no_way_on', 'it is {state}, and you cannot change that', 'hiện ở trạng thái {state} và bạn không thể thay đổi'),
    ('refusal.transition_is_only_proposed', 'the change is proposed and not yet in force',
        'thay đổi này mới được đề xuất, chưa có hiệu lực'),
    ('refusal.trigger_must_be', 'it is made by another call ({problem})', 'thay đổi này phải do lệnh gọi khác thực hiện ({problem})'),
    ('refusal.event_type_not_registered', 'its event {problem} is not registered', 'sự kiện {problem} chưa được đăng ký'),
    ('refusal.audit_ref_required', 'a reference for the log is required (audit_ref)', 'cần một tham chiếu cho nhật ký (audit_ref)'),
    ('refusal.event_payload_invalid', 'its event is not accepted: {problem}', 'sự kiện không được chấp nhận: {problem}'),
    ('refusal.expression', 'the condition {problem} does not hold', 'điều kiện {problem} không thỏa'),
    ('guard.preconditions_met', 'a step before it has not ended well', 'một bước phía trước chưa kết thúc tốt'),
    ('guard.pic_assigned', 'nobody is in charge of it; claim it first', 'chưa có ai phụ trách; hãy nhận việc trước'),
    ('guard.executor_lease_granted', 'the worker does not have its lease', 'worker không giữ quyền thực hiện'),
    ('guard.actor_is_pic', 'only the person in charge ({pic}) can do this; you are {actor}',
        'chỉ người phụ trách ({pic}) được làm việc này; bạn là {actor}'),
    ('guard.wait_facet_known', 'what it waits for is not a known facet of waiting', 'lý do chờ không có trong danh mục'),
    ('guard.facet_resolution_proof', 'a reference to what ended the wait is required', 'cần tham chiếu đến điều đã kết thúc việc chờ'),
    ('guard.block_reason_known', 'the reason is not in the list of block reasons', 'lý do chặn không có trong danh mục'),
    ('guard.blocker_resolution_evidence', 'a reference to what removed the block is required',
        'cần tham chiếu đến điều đã gỡ bỏ việc chặn'),
    ('guard.deadline_passed', 'its deadline has not passed', 'chưa đến hạn chót'),
    ('guard.deadline_extended', 'its deadline is still in the past', 'hạn chót vẫn ở quá khứ'),
    ('guard.output_contract_met', 'the result is not accepted: {problem}', 'kết quả không được chấp nhận: {problem}'),
    ('guard.reopen_approved',
        'a granted approval of the action reopen, a reason from the list of corrections and the record of the end are required',
        'cần phê duyệt cho hành động reopen, một lý do trong danh mục sửa lỗi và bản ghi kết thúc'),
    ('guard.reinstatement_approved', 'neither an approved replay nor an approved correction brings it back',
        'không có lần chạy lại hoặc sửa lỗi nào đã được duyệt cho mục này'),
    ('guard.failure_classified', 'the failure has no registered class', 'lỗi không thuộc loại nào đã đăng ký'),
    ('guard.retry_budget_left', 'no attempt is left', 'đã hết số lần thử'),
    ('guard.retry_exhausted_or_permanent', 'its failure is transient and attempts are left', 'lỗi chỉ tạm thời và vẫn còn lần thử'),
    ('guard.declaration_evidence', 'a reference to the declaration is required', 'cần tham chiếu đến bản khai báo'),
    ('guard.lease_expired', 'the worker still has its lease', 'worker vẫn đang giữ quyền thực hiện'),
    ('guard.replay_approved', 'a replay must be requested and approved first', 'phải yêu cầu chạy lại và được duyệt trước'),
    ('guard.all_steps_finished', 'a mandatory step has not ended well', 'một bước bắt buộc chưa kết thúc tốt'),
    ('guard.run_cannot_finish', 'a step can still run, or no mandatory step has failed',
        'vẫn còn bước có thể chạy, hoặc không có bước bắt buộc nào thất bại'),
    ('guard.cancel_authorised', 'a granted approval of the action workflow_cancel is required',
        'cần phê duyệt cho hành động workflow_cancel'),
    ('guard.quorum_reached', 'not enough reviewers have agreed', 'chưa đủ người duyệt đồng ý'),
    ('guard.approval_expired', 'its time for a decision is not over', 'thời hạn quyết định chưa hết'),
    ('guard.proposal_approved', 'its approval is not granted', 'đề xuất chưa được duyệt'),
    ('guard.first_policy', 'a rule set is in force; a change of it requires an approval',
        'đã có bộ quy tắc đang hiệu lực; thay đổi cần được duyệt'),
    ('guard.actor_oversees', 'only a person with one of the roles {roles} can do this; you are {actor}',
        'chỉ người có một trong các vai trò {roles} được làm việc này; bạn là {actor}'),
    ('guard.actor_is_responsible',
        'only the person in charge ({pic}) or a person with one of the roles {roles} can do this; you are {actor}',
        'chỉ người phụ trách ({pic}) hoặc người có một trong các vai trò {roles} được làm việc này; bạn là {actor}'),
    ('guard.actor_takes_part',
        'only the person in charge ({pic}), who may take it ({takers}) or a person with one of the roles {roles} can do this; you are {actor}',
        'chỉ người phụ trách ({pic}), người có thể nhận ({takers}) hoặc người có một trong các vai trò {roles} được làm việc này; bạn là {actor}')
) as t (text_key, en, vi)
cross join (values ('vi'), ('en')) as l (lang);

-- A guard of one's own keeps its text, in both languages until somebody translates it.
insert into stepwell.i18n_text (text_key, lang, text_value)
select 'guard.' || g.predicate_name, l.lang, g.problem_text
from stepwell.guard_predicate as g
cross join (values ('vi'), ('en')) as l (lang)
on conflict do nothing;
alter table stepwell.guard_predicate drop column problem_text;
