"""The labels of the report (report.html) in an evidence bundle."""

from __future__ import annotations

from typing import Final

from stepwell.translations import Translation

__all__ = ["REPORT"]

REPORT: Final[dict[str, Translation]] = {
    "title": Translation("Evidence", "Hồ sơ bằng chứng"),
    "run": Translation("Run", "Lượt chạy"),
    "itself": Translation("the run", "lượt chạy"),
    "workflow": Translation("Workflow", "Quy trình"),
    "version": Translation("version", "phiên bản"),
    "tenant": Translation("Tenant", "Đơn vị"),
    "started_by": Translation("Started by", "Khởi chạy bởi"),
    "trigger": Translation("Trigger", "Nguồn kích hoạt"),
    "created": Translation("Started", "Bắt đầu"),
    "finished": Translation("Ended", "Kết thúc"),
    "duration": Translation("Duration", "Thời lượng"),
    "trace": Translation("Trace", "Mã theo dõi"),
    "correlation": Translation("Correlation", "Mã liên kết"),
    "graph": Translation("Definition", "Định nghĩa"),
    "children": Translation("Sub-workflow runs", "Lượt chạy con"),
    "parent": Translation("Part of run", "Thuộc lượt chạy"),
    "steps": Translation("Steps", "Các bước"),
    "step": Translation("Step", "Bước"),
    "state": Translation("State", "Trạng thái"),
    "who": Translation("By", "Thực hiện bởi"),
    "attempts": Translation("Attempts", "Số lần thử"),
    "when": Translation("When", "Khi nào"),
    "time": Translation("Course", "Diễn tiến"),
    "approvals": Translation("Approvals", "Phê duyệt"),
    "asked_by": Translation("asked by", "yêu cầu bởi"),
    "of_votes": Translation("votes required", "số phiếu cần thiết"),
    "approve": Translation("approved", "đồng ý"),
    "reject": Translation("rejected", "từ chối"),
    "decisions": Translation("Policy verdicts", "Quyết định theo chính sách"),
    "action": Translation("Action", "Hành động"),
    "effect": Translation("Verdict", "Kết luận"),
    "allow": Translation("allowed", "cho phép"),
    "deny": Translation("denied", "từ chối"),
    "needs_approval": Translation("needs approval", "cần phê duyệt"),
    "rule": Translation("Rule", "Quy tắc"),
    "reason": Translation("Reason", "Lý do"),
    "receipts": Translation("Effects in other systems", "Tác động lên hệ thống khác"),
    "target": Translation("Target", "Đối tượng"),
    "external": Translation("External id", "Mã bên ngoài"),
    "reversible": Translation("Reversible", "Hoàn tác được"),
    "yes": Translation("yes", "có"),
    "no": Translation("no", "không"),
    "costs": Translation("Costs", "Chi phí"),
    "provider": Translation("Provider", "Nhà cung cấp"),
    "model": Translation("Model", "Mô hình"),
    "calls": Translation("Calls", "Số lần gọi"),
    "tokens_in": Translation("Tokens in", "Token vào"),
    "tokens_out": Translation("Tokens out", "Token ra"),
    "cost": Translation("Cost", "Chi phí"),
    "mode": Translation("Mode", "Chế độ"),
    "development": Translation(
        "development: one person acts where nobody is bound, the engine grants cancels and replays",
        "phát triển: một người hành động khi không ai được xác định, hệ thống tự duyệt hủy và chạy lại",
    ),
    "values": Translation("Values", "Giá trị"),
    "metadata_only": Translation(
        "Metadata only: sizes, names and salted hashes. This bundle does not contain the values.",
        "Chỉ siêu dữ liệu: kích thước, tên trường và mã băm có muối. Giá trị không nằm trong hồ sơ này.",
    ),
    "with_values": Translation(
        "This bundle contains the values. Protect it as you protect the values.",
        "Hồ sơ này chứa cả giá trị. Hãy bảo quản tương ứng.",
    ),
    "what": Translation("What", "Loại"),
    "input": Translation("input", "đầu vào"),
    "shown": Translation("shown to the person", "hiển thị cho người xử lý"),
    "output": Translation("output", "đầu ra"),
    "failure": Translation("failure", "lỗi"),
    "about": Translation("what the approval is about", "nội dung cần phê duyệt"),
    "request": Translation("request", "yêu cầu gửi đi"),
    "response": Translation("response", "phản hồi"),
    "prior": Translation("earlier values", "giá trị trước đó"),
    "reversal": Translation("how to reverse it", "cách hoàn tác"),
    "size": Translation("Size", "Kích thước"),
    "names": Translation("names", "trường"),
    "inside": Translation("Field names", "Các trường"),
    "hash": Translation("Salted hash", "Mã băm có muối"),
    "events": Translation("Events", "Sự kiện"),
    "position": Translation("Position", "Vị trí"),
    "event": Translation("Event", "Sự kiện"),
    "change": Translation("Change", "Thay đổi"),
    "actor": Translation("Actor", "Tác nhân"),
    "seal": Translation("Seal", "Niêm phong"),
    "block": Translation("Block", "Khối"),
    "sealed_at": Translation("Sealed", "Niêm phong lúc"),
    "block_hash": Translation("Block hash", "Mã băm khối"),
    "events_in_block": Translation("Events in block", "Sự kiện trong khối"),
    "proof": Translation(
        "Each event below has a path of hashes to the root of a sealed block; the chain contains each block. "
        "An event in the log contains the digests of this page and of every other file of the bundle. "
        "Check it yourself, offline:",
        "Mỗi sự kiện dưới đây được chứng minh bằng đường dẫn tới gốc của một khối đã niêm phong, và mỗi khối "
        "bởi chuỗi. Trang này và mọi tệp khác của hồ sơ được gắn với nhật ký bằng một sự kiện "
        "mang mã băm của chúng. "
        "Bạn có thể tự kiểm tra, không cần mạng:",
    ),
    "trust": Translation(
        "Only an anchor, or a block hash that you trust (--head), shows that the chain is genuine. Without "
        "them, compare the head that it prints with the database.",
        "Chỉ điểm neo, hoặc mã băm khối mà bạn tin cậy (--head), mới cho thấy chuỗi là thật. Nếu không có, "
        "hãy so sánh mã đầu chuỗi được in ra với cơ sở dữ liệu.",
    ),
    "none": Translation("none", "không có"),
    "chain": Translation("Chain", "Chuỗi"),
}
