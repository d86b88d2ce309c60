// Encodes and prints compiled programs, and computes their memory sizes.
#include "kiln/targets/systolic/isa/program.h"

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"

namespace kiln::systolic {
namespace {

std::string PrintBinding(std::string_view kind, const Binding& b) {
  constexpr std::string_view kNames[] = {"i8", "u8", "i16", "i32", "f32"};
  const Encoding& e = b.encoding;
  const std::string held = e.element <= Element::kFloat32
                               ? std::string(kNames[static_cast<size_t>(e.element)])
                               : e.format.name;
  std::string out =
      fmt::format("{} '{}' {} {} @{:#x} {} strides [{}]", kind, b.name, NameOf(b.type()),
                  b.shape.ToString(), b.base, held, fmt::join(b.strides, ","));
  if (b.holds_codes()) out += fmt::format(" scale {}", e.scale);
  if (b.holds_codes() && IsInteger(e.element))
    out += fmt::format(" zero {} in [{}, {}]", e.zero_point, e.low, e.high);
  if (e.blocked()) {
    out += fmt::format(" {} scales of {} along axis {} @{:#x}", e.scale_format.name, e.block_size,
                       b.scale_axis, b.scale_base);
  }
  if (e.foreign != nullptr) out += fmt::format(" rounded to {}", e.foreign->type.format.name);
  return out + "\n";
}

}  // namespace

SystolicProgram::SystolicProgram(ProgramParts parts) : parts_(std::move(parts)) {
  kernels_ = std::move(parts_.kernels);
  notes_ = std::move(parts_.notes);
  constant_bytes_ = static_cast<int64_t>(parts_.constants.size());
  uint64_t top = parts_.constants_base + parts_.constants.size();
  for (const Region& region : parts_.regions)
    top = std::max(top, region.base + static_cast<uint64_t>(region.bytes));
  activation_bytes_ = static_cast<int64_t>(top - parts_.constants_base) - constant_bytes_;
  KILN_CHECK(parts_.memory_top >= top);
}

std::vector<uint8_t> SystolicProgram::EncodeStep(const Step& step) const {
  KILN_CHECK(step.kind == Step::Kind::kInstructions);
  std::vector<Instruction> piece(parts_.instructions.begin() + step.begin,
                                 parts_.instructions.begin() + step.end);
  piece.emplace_back();  // kEnd
  piece.back().wait_distance = 0;
  return Encode(piece, parts_.config);
}

std::string SystolicProgram::Print() const {
  std::string out = fmt::format("program for {}: {} kernels, {} instructions, {} host steps\n",
                                parts_.config.name, kernels_.size(), parts_.instructions.size(),
                                parts_.host_steps.size());
  out += fmt::format("constants {} bytes, activations {} bytes\n\n", constant_bytes_,
                     activation_bytes_);
  for (const Binding& b : parts_.inputs) out += PrintBinding("input", b);
  for (const Binding& b : parts_.outputs) out += PrintBinding("output", b);
  out += "\nmemory\n";
  for (const Region& r : parts_.regions) {
    out += fmt::format(
        "  {:#010x} {:>10} bytes  {:<12} {}\n", r.base, r.bytes,
        r.constant ? std::string("constant") : fmt::format("{}..{}", r.first, r.last), r.name);
  }
  int last_kernel = -1;
  for (const Step& step : parts_.steps) {
    if (step.kind == Step::Kind::kHost) {
      const HostStep& host = parts_.host_steps[static_cast<size_t>(step.begin)];
      const KernelInfo& kernel = kernels_[static_cast<size_t>(host.kernel)];
      out += fmt::format("\n[{}] {}: {}\nhost  {}\n", host.kernel, kernel.name, kernel.operation,
                         kernel.host_reason);
      for (const Binding& b : host.inputs) out += PrintBinding("  reads", b);
      for (const Binding& b : host.outputs) out += PrintBinding("  writes", b);
      continue;
    }
    for (int i = step.begin; i < step.end; ++i) {
      const Instruction& instruction = parts_.instructions[static_cast<size_t>(i)];
      if (static_cast<int>(instruction.kernel) != last_kernel) {
        last_kernel = static_cast<int>(instruction.kernel);
        const KernelInfo& kernel = kernels_[instruction.kernel];
        out += fmt::format("\n[{}] {}: {}\n", last_kernel, kernel.name, kernel.operation);
      }
      out += systolic::Print(instruction, parts_.config);
    }
  }
  return out;
}

ProgramImage ProgramImageOf(const SystolicProgram& program) {
  constexpr uint64_t kProgramAlignment = 4096;
  ProgramImage image;
  image.base = AlignUp(program.memory_top(), kProgramAlignment);
  for (const Step& step : program.steps()) {
    if (step.kind != Step::Kind::kInstructions) continue;
    image.bytes.resize(AlignUp(image.bytes.size(), kProgramAlignment));
    image.addresses.push_back(image.base + image.bytes.size());
    const std::vector<uint8_t> bits = program.EncodeStep(step);
    image.bytes.insert(image.bytes.end(), bits.begin(), bits.end());
  }
  image.memory_bytes = AlignUp(image.base + image.bytes.size(), kProgramAlignment);
  return image;
}

}  // namespace kiln::systolic
