// Records micro-op kernels, turns them into instructions, and assigns them to the micro-op buffer.

#include "kiln/targets/vta/runtime/kernel.h"

#include <algorithm>
#include <limits>

#include "fmt/format.h"

namespace kiln::vta {
namespace {}  // namespace

Status Kernel::BeginLoop(uint32_t extent, uint32_t dst, uint32_t src, uint32_t weight) {
  if (!uops_.empty()) return Misuse("a kernel's loop begins behind its first micro-op");
  if (loops_.size() == 2) return Misuse("a kernel has at most two loops");
  if (open_ != loops_.size()) return Misuse("a kernel's loop begins behind the end of another");
  loops_.push_back({extent, dst, src, weight});
  ++open_;
  return OkStatus();
}

Status Kernel::EndLoop() {
  if (open_ == 0) return Misuse("a kernel's loop ends that has not begun");
  --open_;
  return OkStatus();
}

Status Kernel::Add(const Push& push) {
  if (push.mode != Mode::kGemm && push.mode != Mode::kAlu) {
    return Misuse(
        fmt::format("micro-op mode {}; 0 (GEMM) or 1 (ALU)", static_cast<uint32_t>(push.mode)));
  }
  if (push.mode == Mode::kAlu && push.alu > static_cast<uint32_t>(AluOp::kMultiply)) {
    return Misuse(fmt::format("ALU operation {}; 0 to 4", push.alu));
  }
  using Immediate = std::numeric_limits<int16_t>;
  if (push.mode == Mode::kAlu && push.use_immediate &&
      (push.immediate < Immediate::min() || push.immediate > Immediate::max())) {
    return absl::OutOfRangeError(fmt::format("immediate is {}; {} to {}", push.immediate,
                                             Immediate::min(), Immediate::max()));
  }
  if (uops_.empty()) first_ = push;
  const bool alike = push.mode == first_.mode && push.reset == first_.reset &&
                     (push.mode == Mode::kGemm ||
                      (push.alu == first_.alu && push.use_immediate == first_.use_immediate &&
                       push.immediate == first_.immediate));
  if (!alike) return Misuse("a kernel's micro-ops differ in more than their indices");
  const size_t near = std::min<size_t>(uops_.size(), 2);
  for (size_t i = uops_.size() - near; i < uops_.size(); ++i) {
    if (uops_[i].dst != push.uop.dst) continue;
    return Misuse(fmt::format("two micro-ops within three write accumulator {}", push.uop.dst));
  }
  uops_.push_back(push.uop);
  return OkStatus();
}

Status Kernel::Close() const {
  return open_ == 0 ? OkStatus() : Misuse("a kernel's loop has not ended");
}

Instruction Kernel::InstructionAt(uint32_t place) const {
  Instruction in;
  const bool alu = first_.mode == Mode::kAlu;
  in.opcode = alu ? Opcode::kAlu : Opcode::kGemm;
  in.reset = first_.reset;
  in.uop_begin = place;
  in.uop_end = place + static_cast<uint32_t>(uops_.size());
  Loop outer, inner;
  if (loops_.size() == 1) (alu ? inner : outer) = loops_[0];
  if (loops_.size() == 2) {
    outer = loops_[0];
    inner = loops_[1];
  }
  in.outer = outer.extent;
  in.inner = inner.extent;
  in.dst_outer = outer.dst;
  in.dst_inner = inner.dst;
  in.src_outer = outer.src;
  in.src_inner = inner.src;
  if (alu) {
    in.alu = static_cast<AluOp>(first_.alu);
    in.use_immediate = first_.use_immediate;
    in.immediate = static_cast<int16_t>(first_.immediate);
  } else {
    in.weight_outer = outer.weight;
    in.weight_inner = inner.weight;
  }
  return in;
}

StatusOr<KernelCache::Place> KernelCache::Find(const Kernel* kernel) {
  for (const Resident& resident : residents_) {
    if (resident.kernel == kernel) return Place{resident.first, std::nullopt};
  }
  const size_t count = kernel->uops().size();
  if (count > capacity_) {
    return Misuse(fmt::format("a kernel of {} micro-ops; the buffer holds {}", count, capacity_));
  }
  const auto size = static_cast<uint32_t>(count);
  const uint32_t first = end_ + size > capacity_ ? 0 : end_;
  end_ = first + size;
  std::erase_if(residents_,
                [&](const Resident& other) { return other.first < end_ && first < other.end; });
  residents_.push_back({kernel, first, end_});
  const auto load_from = static_cast<uint32_t>(launch_uops_.size());
  launch_uops_.insert(launch_uops_.end(), kernel->uops().begin(), kernel->uops().end());
  return Place{first, load_from};
}

void KernelCache::EndLaunch() {
  residents_.clear();
  launch_uops_.clear();
  end_ = 0;
}

}  // namespace kiln::vta
