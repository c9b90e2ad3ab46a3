"""Texts for the findings of the doctor: `stepwell doctor`, the API and the health page show them."""

from __future__ import annotations

from typing import Final

from stepwell.translations import Translation

__all__ = ["HEALTH", "say"]

# Code → text; names in braces are facts of the finding.
HEALTH: Final[dict[str, Translation]] = {
    "database.embedded": Translation(
        "PostgreSQL {version}, embedded in {folder}",
        "PostgreSQL {version}, tích hợp sẵn trong {folder}",
    ),
    "database.external": Translation("PostgreSQL {version}, external", "PostgreSQL {version}, theo địa chỉ"),
    "mode.development": Translation(
        "development: {person} acts where nobody is bound, the engine grants cancels and replays;"
        " 'stepwell db leave-development' ends it",
        "phát triển: {person} hành động khi không ai được xác định, hệ thống tự duyệt hủy và chạy lại;"
        " 'stepwell db leave-development' kết thúc chế độ này",
    ),
    "mode.strict": Translation(
        "strict: nobody acts without a binding, cancels and replays require an approval",
        "nghiêm ngặt: không ai hành động khi chưa được xác định, hủy và chạy lại cần được duyệt",
    ),
    "setting.value": Translation("{value}", "{value}"),
    "fsync.remedy": Translation(
        "alter system set fsync = on; without it a power cut loses committed work",
        "alter system set fsync = on; nếu không, mất điện sẽ làm mất dữ liệu đã ghi",
    ),
    "full_page_writes.remedy": Translation(
        "alter system set full_page_writes = on; without it a crash can damage pages",
        "alter system set full_page_writes = on; nếu không, trang ghi dở sẽ bị mất",
    ),
    "synchronous_commit.remedy": Translation(
        "alter system set synchronous_commit = on; without it a crash loses the last commits",
        "alter system set synchronous_commit = on; nếu không, sự cố sẽ làm mất các giao dịch cuối",
    ),
    "max_connections.remedy": Translation(
        "set max_connections to {wanted} or more, or use a connection pooler",
        "đặt max_connections từ {wanted} trở lên, hoặc đặt bộ gộp kết nối phía trước",
    ),
    "schema.current": Translation("current, {count} migrations", "mới nhất, {count} lần nâng cấp"),
    "schema.pending": Translation("{count} migrations missing", "thiếu {count} lần nâng cấp"),
    "schema.outdated": Translation("routines outdated", "các hàm đã cũ"),
    "schema.remedy": Translation("run 'stepwell db migrate'", "chạy 'stepwell db migrate'"),
    "partitions.ready": Translation("the log has the partitions that it needs", "nhật ký có đủ các tháng"),
    "partitions.made": Translation(
        "{count} missing partitions of the log were created",
        "đã tạo {count} tháng còn thiếu của nhật ký",
    ),
    "partitions.missing": Translation(
        "the log has no partition for this month", "nhật ký không có phân vùng cho tháng này"
    ),
    "partitions.remedy": Translation(
        "start a worker or a keeper, or run 'stepwell db migrate'",
        "khởi động worker hoặc keeper, hoặc chạy 'stepwell db migrate'",
    ),
    "clock.apart": Translation("the clocks differ by {seconds} s", "lệch {seconds} giây"),
    "clock.remedy": Translation(
        "synchronise both clocks (NTP); the engine uses only the server's clock, but times in logs differ",
        "đồng bộ cả hai đồng hồ (NTP); chỉ đồng hồ máy chủ quyết định, nhưng nhật ký sẽ không khớp giờ",
    ),
    "permissions.missing": Translation(
        "role {role} may not {rights}", "vai trò {role} thiếu quyền: {rights}"
    ),
    "permissions.remedy": Translation(
        "grant the right to {role}, or connect as the owner",
        "cấp quyền cho {role}, hoặc dùng vai trò của chủ sở hữu",
    ),
    "permissions.process": Translation(
        "role {role} has the rights of a process; the owner migrates",
        "vai trò {role} có quyền của một tiến trình; chủ sở hữu nâng cấp lược đồ",
    ),
    "roles.ready": Translation(
        "each process has its role and its rights", "mỗi tiến trình có vai trò và quyền của mình"
    ),
    "roles.right": Translation("role {role} may not {right}", "vai trò {role} thiếu quyền: {right}"),
    "roles.rights": Translation(
        "role {role} may not {right}; {count} more rights are missing",
        "vai trò {role} thiếu quyền: {right}; còn thiếu {count} quyền khác",
    ),
    "roles.right_remedy": Translation(
        "run 'stepwell db roles' as the owner", "chạy 'stepwell db roles' với vai trò của chủ sở hữu"
    ),
    "roles.absent": Translation("these roles are missing: {names}", "thiếu các vai trò: {names}"),
    "roles.absent_remedy": Translation(
        "run 'stepwell db roles', or give the SQL of 'stepwell db roles --print' to an administrator",
        "chạy 'stepwell db roles', hoặc đưa SQL của 'stepwell db roles --print' cho quản trị viên",
    ),
    "keeper.none": Translation(
        "role {role} is no keeper: timers, retries and schedules wait for one",
        "vai trò {role} không phải keeper: hẹn giờ, thử lại và lịch phải chờ",
    ),
    "keeper.remedy": Translation(
        "run 'stepwell keeper' with the role stepwell_keeper, or set STEPWELL_KEEPER_URL",
        "chạy 'stepwell keeper' với vai trò stepwell_keeper, hoặc đặt STEPWELL_KEEPER_URL",
    ),
    "permissions.granted": Translation(
        "role {role} may migrate and use the schema",
        "vai trò {role} được nâng cấp và dùng lược đồ",
    ),
    "disk.database": Translation(
        "database of {size}; free space is not visible from here",
        "cơ sở dữ liệu {size}; từ đây không thấy được dung lượng trống",
    ),
    "disk.free": Translation("{gib} GiB free", "còn trống {gib} GiB"),
    "disk.remedy": Translation(
        "free space on the disk of {folder}; without it the server stops",
        "giải phóng dung lượng trên đĩa chứa {folder}; nếu hết chỗ, máy chủ sẽ dừng",
    ),
    "notify.arrived": Translation("arrived after {milliseconds} ms", "đến sau {milliseconds} ms"),
    "notify.missing": Translation("no notification arrived", "không nhận được thông báo nào"),
    "notify.remedy": Translation(
        "set STEPWELL_LISTEN_URL to the server's own address; without it workers poll",
        "đặt STEPWELL_LISTEN_URL bằng địa chỉ trực tiếp của máy chủ; nếu không, worker phải hỏi định kỳ",
    ),
    "receipts.settled": Translation("no receipt waits for a person", "không có tác động nào chưa rõ"),
    "receipts.doubt": Translation(
        "{count} effects may or may not have happened, and only a person can find out",
        "{count} tác động không rõ đã xảy ra hay chưa, chỉ con người mới xác định được",
    ),
    "receipts.remedy": Translation(
        "see 'stepwell receipts list --state unconfirmed', then use 'stepwell receipts settle'",
        "xem bằng 'stepwell receipts list --state unconfirmed', rồi 'stepwell receipts settle'",
    ),
    "names.accepted": Translation("every name is accepted", "mọi tên đều được chấp nhận"),
    "names.refused": Translation(
        "tenant {tenant}: {name} (#{number}) cannot act: {reason}",
        "đơn vị {tenant}: {name} (#{number}) không thể hành động: {reason}",
    ),
    "names.remedy": Translation(
        "as an administrator of this tenant: stepwell user rename '#{number}' NEW-NAME,"
        " then 'stepwell user activate NEW-NAME'",
        "với quyền quản trị của đơn vị này: stepwell user rename '#{number}' TÊN-MỚI,"
        " rồi 'stepwell user activate TÊN-MỚI'",
    ),
    "evidence.made": Translation(
        "no ended run waits too long for its bundle", "không có lần chạy nào chờ gói bằng chứng quá lâu"
    ),
    "evidence.late": Translation(
        "{count} ended runs wait for their bundle for more than an hour; last error: {error}",
        "{count} lần chạy đã kết thúc chờ gói bằng chứng hơn một giờ; lỗi gần nhất: {error}",
    ),
    "evidence.remedy": Translation(
        "run 'stepwell keeper', and correct the error (table evidence_due has it for each run)",
        "chạy 'stepwell keeper', và sửa lỗi (bảng evidence_due ghi lỗi của từng lần chạy)",
    ),
    "pooler.transaction": Translation(
        "transaction pooling (PgBouncer or the like)",
        "gộp theo giao dịch (PgBouncer hoặc tương tự)",
    ),
    "pooler.remedy": Translation(
        "set STEPWELL_LISTEN_URL to the server's own address, so that workers need not poll",
        "đặt STEPWELL_LISTEN_URL bằng địa chỉ trực tiếp của máy chủ để worker không phải hỏi định kỳ",
    ),
    "pooler.with_listen": Translation(
        "transaction pooling, with a direct address for LISTEN",
        "gộp theo giao dịch, có địa chỉ trực tiếp cho LISTEN",
    ),
    "pooler.session": Translation("session pooling", "gộp theo phiên"),
    "pooler.none": Translation("none, the connection is direct", "không có, kết nối trực tiếp"),
    "registry.remedy": Translation(
        "run 'stepwell db verify', then restore the registry rows it names",
        "chạy 'stepwell db verify', rồi khôi phục các dòng sổ đăng ký được nêu",
    ),
    "workers.count": Translation(
        "{live} connected, {ready} jobs ready", "{live} đang kết nối, {ready} việc sẵn sàng"
    ),
    "workers.remedy": Translation(
        "start one with 'stepwell worker --app module:app'",
        "khởi động bằng 'stepwell worker --app module:app'",
    ),
    "seal.current": Translation(
        "blocks: {count}; no event waits too long for its seal",
        "{count} khối, không có sự kiện nào chờ quá lâu",
    ),
    "seal.off": Translation(
        "switched off (dot_config audit.seal_interval_seconds)",
        "đã tắt (dot_config audit.seal_interval_seconds)",
    ),
    "seal.behind": Translation(
        "the oldest unsealed event is {minutes} minutes old",
        "sự kiện từ {minutes} phút trước chưa được niêm phong",
    ),
    "seal.remedy": Translation(
        "run 'stepwell keeper', and end transactions that stay open (see pg_stat_activity)",
        "chạy 'stepwell keeper', và kết thúc các giao dịch còn mở (pg_stat_activity)",
    ),
    "seal.anchor": Translation(
        "an anchor cannot be written: {error}", "không ghi được vào điểm neo: {error}"
    ),
    "seal.anchor_remedy": Translation(
        "correct its address or repair the storage", "sửa địa chỉ hoặc nơi lưu"
    ),
    "vacuum.free": Translation("no old transaction holds up vacuum", "không giao dịch cũ nào cản vacuum"),
    "vacuum.held": Translation(
        "process {pid} ({program}, role {role}, database {database}, {state}) has had a transaction open"
        " for {seconds} s; vacuum cannot remove what was deleted since: {query}",
        "tiến trình {pid} ({program}, vai trò {role}, cơ sở dữ liệu {database}, {state}) mở giao dịch đã"
        " {seconds} giây; vacuum không dọn được những gì bị xóa từ đó: {query}",
    ),
    "vacuum.remedy": Translation(
        "let it end, or: select pg_terminate_backend({pid})",
        "để nó kết thúc, hoặc: select pg_terminate_backend({pid})",
    ),
    "locks.free": Translation("nobody waits long for a lock", "không ai chờ khóa lâu"),
    "locks.held": Translation(
        "process {waits} has waited {seconds} s for a lock of process {pid} ({program}, role {role},"
        " database {database}, {state}): {query}",
        "tiến trình {waits} đã chờ {seconds} giây khóa của tiến trình {pid} ({program}, vai trò {role},"
        " cơ sở dữ liệu {database}, {state}): {query}",
    ),
    "locks.remedy": Translation(
        "let process {pid} end its transaction, or: select pg_terminate_backend({pid})",
        "để tiến trình {pid} kết thúc giao dịch, hoặc: select pg_terminate_backend({pid})",
    ),
    "months.left": Translation(
        "the log has partitions for {count} more months", "nhật ký có phân vùng cho {count} tháng nữa"
    ),
    "months.remedy": Translation(
        "run 'stepwell keeper'; it makes the partitions of the next months",
        "chạy 'stepwell keeper' để tạo phân vùng cho các tháng tới",
    ),
    "invariants.hold": Translation(
        "every invariant holds in {runs} runs and jobs",
        "mọi bất biến đều đúng trong {runs} lượt chạy và công việc",
    ),
    "invariants.broken": Translation(
        "{faults} rows at fault in {runs} runs and jobs",
        "{faults} dòng sai trong {runs} lượt chạy và công việc",
    ),
    "invariants.remedy": Translation("see each line above", "xem từng dòng phía trên"),
    "invariants.refused": Translation(
        "not checked: this role may not ask as keeper", "chưa kiểm tra: vai trò này không được hỏi như keeper"
    ),
    "interface.built": Translation("built", "đã dựng"),
    "interface.missing": Translation(
        "this installation has no web interface",
        "bản cài đặt này không kèm giao diện web",
    ),
    "interface.remedy": Translation(
        "run 'make ui' in a source checkout, or install the wheel again",
        "chạy 'make ui' trong mã nguồn, hoặc cài lại gói wheel",
    ),
    "database.remedy": Translation(
        "check STEPWELL_DATABASE_URL, and that the server runs and accepts your user and password",
        "kiểm tra STEPWELL_DATABASE_URL, và máy chủ có chạy và cho phép kết nối không",
    ),
}


def say(code: str, **facts: object) -> Translation:
    return HEALTH[code].filled(**facts)
