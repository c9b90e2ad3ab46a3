-- The invariants are checked while the system works, slice by slice, and what a session of the database holds up is named.

create table stepwell.integrity_watch (
    is_only boolean not null default true,
    tenant_id int not null default 0,
    unit_id bigint not null default 0,
    run_count int not null default 20,
    begun_mark bigint not null default 0,
    whole_mark bigint not null default 0,
    whole_at timestamptz,
    constraint integrity_watch_pkey primary key (is_only),
    constraint integrity_watch_has_one_row check (is_only)
);
comment on table stepwell.integrity_watch is 'How far the keeper has checked the invariants (after this unit of this tenant), how many runs it checks next, and the newest event when the present pass and the last whole one began';
insert into stepwell.integrity_watch default values;

insert into stepwell.i18n_text (text_key, lang, text_value)
select 'integrity.remedy.' || t.invariant, l.lang, case l.lang when 'vi' then t.vi else t.en end
from (values
    ('leases_are_single_and_alive', 'End the worker that has the lease, so that the keeper frees the unit; then compare the unit with the log.',
        'Dừng worker đang giữ quyền để keeper giải phóng việc đó; rồi đối chiếu việc với nhật ký.'),
    ('every_open_unit_is_explained', 'Retry the step, or cancel its run; keep the log for a report of this fault.',
        'Thử lại bước, hoặc hủy lượt chạy; giữ nhật ký để báo lỗi này.'),
    ('states_are_the_fold_of_events', 'Somebody changed the row beside the engine. Find who has the rights of the owner, and set the state back to that of the log.',
        'Có người đã sửa dòng này ngoài hệ thống. Tìm ai có quyền chủ sở hữu và đưa trạng thái về đúng nhật ký.'),
    ('counters_equal_a_recount', 'Pause and resume the run: its colour is computed again. If the counters stay wrong, cancel the run and start it again.',
        'Tạm dừng rồi cho chạy tiếp: màu được tính lại. Nếu các số đếm vẫn sai, hủy lượt chạy và chạy lại.'),
    ('pending_counts_equal_unfinished_predecessors', 'The step would start too early or never. Cancel the run and start it again.',
        'Bước này sẽ bắt đầu quá sớm hoặc không bao giờ. Hủy lượt chạy và chạy lại.'),
    ('nothing_is_left_of_what_has_ended', 'Something still refers to what has ended. Cancel it; keep the log for a report of this fault.',
        'Vẫn còn thứ trỏ đến việc đã kết thúc. Hủy nó; giữ nhật ký để báo lỗi này.'),
    ('slots_equal_their_holders', 'Set the limit of the key again: free slots are then given out.', 'Đặt lại giới hạn của khóa: các chỗ trống sẽ được phát lại.'),
    ('effects_agree_with_their_receipts', 'Look in the other system whether the effect happened, and settle the receipt.',
        'Xem trong hệ thống kia tác động đã xảy ra chưa, rồi chốt biên nhận.')
) as t (invariant, en, vi)
cross join (values ('vi'), ('en')) as l (lang);

insert into stepwell.dot_config (config_key, config_value, description) values
('integrity.slice_milliseconds', '8', 'So long one check of the keeper for broken invariants should take; it checks as many runs as fit');
