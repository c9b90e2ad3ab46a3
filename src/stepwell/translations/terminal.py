"""The words of the tables and cards in the terminal."""

from __future__ import annotations

from typing import Final

from stepwell.translations import Translation

__all__ = ["TERMINAL"]

TERMINAL: Final[dict[str, Translation]] = {
    "run": Translation("run", "lượt chạy"),
    "step": Translation("step", "bước"),
    "state": Translation("state", "trạng thái"),
    "attempts": Translation("attempts", "số lần thử"),
    "time": Translation("time", "thời gian"),
    "note": Translation("note", "ghi chú"),
    "workflow": Translation("workflow", "quy trình"),
    "progress": Translation("progress", "tiến độ"),
    "started": Translation("started", "bắt đầu"),
    "key": Translation("key", "khóa"),
    "by": Translation("by", "bởi"),
    "of": Translation("of", "trên"),
    "steps": Translation("steps", "bước"),
    "skipped": Translation("skipped", "bỏ qua"),
    "cannot be completed": Translation("cannot be completed", "không thể hoàn tất"),
    "part of run": Translation("part of run", "thuộc lượt chạy"),
    "job": Translation("job", "công việc"),
    "operation": Translation("operation", "thao tác"),
    "executor": Translation("executor", "bộ thực thi"),
    "worker": Translation("worker", "máy thực thi"),
    "age": Translation("age", "tuổi"),
    "waits for": Translation("by", "bởi"),
    "person": Translation("person", "người phụ trách"),
    "for": Translation("for", "dành cho"),
    "deadline": Translation("deadline", "hạn chót"),
    "nobody": Translation("nobody yet", "chưa có ai"),
    "anyone": Translation("anyone", "bất kỳ ai"),
    "role": Translation("role", "vai trò"),
    "in": Translation("in", "còn"),
    "late": Translation("late", "trễ"),
    "was late": Translation("was late", "đã trễ"),
    "urgent": Translation("urgent", "khẩn"),
    "inputs": Translation("about", "nội dung"),
    "form": Translation("form", "biểu mẫu"),
    "required": Translation("required", "bắt buộc"),
    "tasks": Translation("tasks", "công việc con"),
    "nothing to do": Translation("nothing to do", "không có việc nào"),
    "around": Translation("reopens with it", "mở lại cùng"),
    "after": Translation("depends on it", "phụ thuộc vào nó"),
    "left": Translation("stays as it is", "giữ nguyên"),
    "could reopen": Translation("can be reopened too", "có thể mở lại"),
    "nothing depends": Translation("no other step is affected", "không ảnh hưởng bước nào khác"),
}
