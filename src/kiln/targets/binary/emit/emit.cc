// Writes the top module of a machine, and the files of a program beside it.

#include "kiln/targets/binary/emit/emit.h"

#include <string>
#include <vector>

#include "fmt/format.h"
#include "kiln/support/random.h"
#include "kiln/targets/binary/config/keys.h"
#include "kiln/targets/binary/isa/stream.h"
#include "kiln/targets/run/stream_simulation.h"

namespace kiln::binary {
namespace {

std::string Text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

hardware::RtlProject ProjectOf(const Config& config) {
  hardware::RtlProject project;
  SetStreamTop("kiln_binary", Keys().RtlParameters(config), config.beat_bytes, config.beat_bytes,
               &project);
  project.others.emplace_back("design.yaml", PrintConfig(config));
  return project;
}

hardware::RtlProject ProjectOf(const BlockProgram& program) {
  hardware::RtlProject project = ProjectOf(program.config);
  std::vector<uint8_t> beats;
  AppendLoad(program, &beats);
  project.others.emplace_back("program.txt", Print(program));
  project.others.emplace_back("program.bin", Text(beats));
  const StageProgram& first = program.stages[0];
  Random random(1);
  std::vector<int32_t> codes(static_cast<size_t>(first.height) * static_cast<size_t>(first.width) *
                             static_cast<size_t>(program.record_beats) *
                             static_cast<size_t>(program.config.beat_codes()));
  for (int32_t& code : codes) code = static_cast<int32_t>(random.Below(8));
  AppendRun(program, codes, &beats);
  project.others.emplace_back("example.bin", Text(beats));
  project.simulation_arguments = fmt::format("--memory example.bin --beats {}", BeatsOut(program));
  return project;
}

}  // namespace kiln::binary
