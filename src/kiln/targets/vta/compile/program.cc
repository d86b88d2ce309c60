// Prints compiled programs, and extracts their launches as a program vector.

#include "kiln/targets/vta/compile/program.h"

#include <set>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace kiln::vta {
namespace {

// Returns the launches that may run while the host works on a step, as "; beside launches 2, 3".
std::string BesideOf(const ProgramParts& parts, size_t step) {
  std::set<size_t> launches;
  for (size_t i = 0; i < parts.plan.pieces.size(); ++i) {
    const Piece& piece = parts.plan.pieces[i];
    if (piece.kind != Piece::Kind::kOperator || piece.step != step) continue;
    for (const size_t other : parts.plan.beside[i]) {
      if (parts.plan.pieces[other].kind == Piece::Kind::kLaunch)
        launches.insert(parts.plan.pieces[other].step);
    }
  }
  if (launches.empty()) return "";
  return fmt::format("; beside launch{} {}", launches.size() == 1 ? "" : "es",
                     fmt::join(launches, ", "));
}

}  // namespace

std::string VtaProgram::Print() const {
  const Encoding encoding(parts_.config);
  size_t instructions = 0;
  for (const Step& step : parts_.steps)
    instructions += step.launch.has_value() ? step.launch->instructions.size() : 0;
  std::string out = fmt::format("program for {}: {} kernels, {} instructions\n", parts_.config.name,
                                kernels_.size(), instructions);
  out += fmt::format("constants {} bytes, activations {} bytes\n\nmemory\n", constant_bytes_,
                     activation_bytes_);
  for (size_t i = 0; i < parts_.maps.size(); ++i) {
    const FeatureMap& m = parts_.maps[i];
    out += fmt::format(
        "  {:#010x} {}x{}x{} {} {}\n", parts_.map_addresses[i], m.channels, m.image_height(),
        m.image_width(),
        m.wide ? "sums" : fmt::format("scale {} zero {}", m.codes.scale, m.codes.zero), m.name);
  }
  for (size_t i = 0; i < parts_.steps.size(); ++i) {
    const Step& step = parts_.steps[i];
    out += fmt::format("\n[{}] {}: {}\n", i, kernels_[i].name, kernels_[i].operation);
    if (step.host.has_value())
      out += fmt::format("host  {}{}\n", kernels_[i].host_reason, BesideOf(parts_, i));
    if (step.tiling.has_value()) {
      const MatrixTiling& t = *step.tiling;
      out += fmt::format("{}, {} input blocks at once{}\n", Describe(t), t.chunk,
                         t.resident ? ", weights stay" : "");
    }
    if (!step.launch.has_value()) continue;
    for (const Instruction& in : step.launch->instructions)
      out += fmt::format("  {}\n", Disassemble(encoding.Encode(in), encoding));
  }
  return out;
}

ProgramVector LaunchesOf(const VtaProgram& program) {
  ProgramVector vector;
  vector.name = program.config().name;
  vector.config = program.config();
  vector.base = MemoryImage::kBase;
  const LargeBytes& memory = program.parts().memory;
  vector.before.assign(memory.begin(), memory.end());
  for (const Step& step : program.parts().steps) {
    if (step.launch.has_value())
      vector.launches.push_back({step.launch->address, step.launch->instructions.size()});
  }
  return vector;
}

}  // namespace kiln::vta
