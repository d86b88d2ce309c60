// Writes the top module of a machine, and the files of a program beside it.

#include "kiln/targets/cgra/emit/emit.h"

#include <string>

#include "fmt/format.h"
#include "kiln/support/random.h"
#include "kiln/targets/cgra/chart/chart.h"
#include "kiln/targets/cgra/config/keys.h"
#include "kiln/targets/cgra/isa/stream.h"
#include "kiln/targets/run/stream_simulation.h"

namespace kiln::cgra {
namespace {

constexpr int64_t kExampleThreads = 4;

std::string Text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

ExampleRun MakeExample(const CgraProgram& program, uint64_t seed) {
  ExampleRun example;
  example.threads = kExampleThreads;
  Random random(seed);
  const size_t words = static_cast<size_t>(kExampleThreads) * program.inputs.size() *
                       static_cast<size_t>(program.config.lanes);
  example.data.reserve(words);
  for (size_t i = 0; i < words; ++i)
    example.data.push_back(static_cast<int32_t>(random.Between(-1000, 1000)));
  return example;
}

StatusOr<hardware::RtlProject> ProjectOf(const Config& config) {
  KILN_RETURN_IF_ERROR(CheckStreamMachine(config));
  hardware::RtlProject project;
  const auto bytes = static_cast<int>(BeatBytes(config));
  SetStreamTop("kiln_cgra", Keys().RtlParameters(config), bytes, bytes, &project);
  project.others.emplace_back("design.yaml", PrintConfig(config));
  return project;
}

StatusOr<hardware::RtlProject> ProjectOf(const CgraProgram& program, const ExampleRun& example) {
  KILN_RETURN_IF_ERROR(Check(program));
  KILN_ASSIGN_OR_RETURN(hardware::RtlProject project, ProjectOf(program.config));
  std::vector<uint8_t> beats;
  AppendLoad(program, &beats);
  project.others.emplace_back("program.txt", Print(program));
  project.others.emplace_back("configuration.json", ConfigurationJson(program));
  project.others.emplace_back("configuration.bin", Text(beats));
  AppendRun(program, example.threads, 0, example.data, &beats);
  project.others.emplace_back("example.bin", Text(beats));
  project.simulation_arguments =
      fmt::format("--memory example.bin --beats {}",
                  example.threads * static_cast<int64_t>(program.outputs.size()));
  return project;
}

Status Emit(const CgraProgram& program, const std::filesystem::path& folder) {
  KILN_ASSIGN_OR_RETURN(const hardware::RtlProject project,
                        ProjectOf(program, MakeExample(program)));
  return hardware::WriteRtlProject(project, folder);
}

}  // namespace kiln::cgra
