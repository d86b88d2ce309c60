// Emits networks and estimates their costs on one machine: each method checks that a program
// belongs to the family and calls the room that does the work. The end of the file registers the
// family.

#include "kiln/targets/cgra/accelerator.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/hardware/stream_memory.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/targets/cgra/chart/chart.h"
#include "kiln/targets/cgra/config/keys.h"
#include "kiln/targets/cgra/cost/area_model.h"
#include "kiln/targets/cgra/cost/cost.h"
#include "kiln/targets/cgra/cost/events.h"
#include "kiln/targets/cgra/emit/emit.h"
#include "kiln/targets/cgra/launch_guide.h"
#include "kiln/targets/cgra/map/sat.h"
#include "kiln/targets/cgra/run_network.h"
#include "kiln/targets/cgra/simulate/functional/functional.h"
#include "kiln/targets/interface/folder_guide.h"

namespace kiln::cgra {
namespace {

LaunchWork WorkOf(const Launch& launch) {
  return {.program = &launch.mapped->program,
          .runs = launch.runs,
          .threads = launch.threads,
          .first_sent = launch.first_sent};
}

}  // namespace

std::vector<std::string> CgraAccelerator::ActivationFormats() const {
  std::vector<std::string> names;
  for (const char* kind : {"int", "uint"}) {
    for (int bits = 16; bits >= 2; --bits) names.push_back(kind + std::to_string(bits));
  }
  names.emplace_back("fp32");
  return names;
}

std::vector<std::string> CgraAccelerator::WeightFormats() const {
  std::vector<std::string> names;
  for (int bits = 8; bits >= 2; --bits) names.push_back("int" + std::to_string(bits));
  return names;
}

NamedRecipe CgraAccelerator::OwnRecipe() const { return {.name = "int8", .recipe = Int8Recipe()}; }

namespace {

// Records launches at the functional level until the sample has kMostSampleBytes bytes, of the last
// launch only the runs that fit. Sets `beats` to the beats that the machine sends.
StatusOr<hardware::SampleRun> RecordSample(const NetworkProgram& program, const Batch& batch,
                                           int64_t* beats, std::vector<HeldLaunch>* launches) {
  hardware::SampleRun sample;
  if (batch.inputs.empty()) return sample;
  const Config& config = program.config();
  const int64_t lanes = config.lanes;
  bool full = false;
  const auto record = [&](const KernelPlace& place, const Launch& launch,
                          const LaunchStream& stream, std::span<const uint8_t> out) {
    size_t runs = 0;
    while (runs < stream.ends.size() &&
           (runs == 0 || sample.bytes() + stream.ends[runs] <= kMostSampleBytes)) {
      ++runs;
    }
    full = full || (*beats > 0 && sample.bytes() + stream.ends[runs - 1] > kMostSampleBytes);
    if (full) return;
    full = runs < stream.ends.size();
    const int64_t threads = launch.threads - launch.first_sent, outputs = std::ssize(launch.drains),
                  run_bits = 32 * lanes * outputs * threads;
    launches->push_back({.kernel = place.kernel,
                         .launch = &launch,
                         .runs = static_cast<int64_t>(runs),
                         .offset = sample.InputOf(0).size()});
    sample.Send(0, std::span(stream.bytes).first(stream.ends[runs - 1]));
    sample.Expect({.name = program.kernels()[static_cast<size_t>(place.kernel)].name,
                   .base = static_cast<uint64_t>(*beats * 4 * lanes),
                   .bits = 32,
                   .axes = {{"run", {{static_cast<int64_t>(runs), run_bits}}},
                            {"thread", {{threads, 32 * lanes * outputs}}},
                            {"output", {{outputs, 32 * lanes}}},
                            {"lane", {{lanes, 32}}}}},
                  out);
    *beats += static_cast<int64_t>(runs) * stream.beats_of_run;
  };
  const std::unique_ptr<TensorMachine> machine = MakeNetworkMachine(
      program,
      [&](const KernelPlace& place, const Launch& launch, BufferContents* contents, Trace* trace) {
        return RunByStream(
            launch,
            [&](const LaunchStream& stream, Trace*) -> StatusOr<std::vector<uint8_t>> {
              KILN_ASSIGN_OR_RETURN(std::vector<uint8_t> out,
                                    FunctionalMachine(config).Run(stream.bytes));
              if (!full) record(place, launch, stream, out);
              return out;
            },
            contents, trace);
      });
  KILN_RETURN_IF_ERROR(RunImage(*machine, batch.inputs));
  return sample;
}

}  // namespace

Status CgraAccelerator::EmitRtl(const Program& program, const FolderContent& content,
                                const std::filesystem::path& folder) const {
  KILN_ASSIGN_OR_RETURN(const NetworkProgram* compiled, OwnOf(program));
  // The first configuration is in the folder; a network may have none on the machine.
  const CgraProgram* first = nullptr;
  int64_t launches = 0;
  for (const LoweredKernel& kernel : compiled->lowered()) {
    if (!kernel.machine.has_value()) continue;
    for (const Launch& launch : kernel.machine->launches) {
      if (first == nullptr) first = &launch.mapped->program;
      ++launches;
    }
  }
  KILN_ASSIGN_OR_RETURN(hardware::RtlProject project, first != nullptr
                                                          ? ProjectOf(*first, MakeExample(*first))
                                                          : ProjectOf(config_));
  std::erase_if(project.others, [](const auto& file) { return file.first == "program.txt"; });
  project.others.emplace_back("program.txt", compiled->Print());
  int64_t beats = 0;
  std::vector<HeldLaunch> held;
  KILN_ASSIGN_OR_RETURN(const hardware::SampleRun sample,
                        RecordSample(*compiled, content.sample, &beats, &held));
  const int64_t recorded = std::ssize(held);
  hardware::DesignGuide& guide =
      project.guide.emplace(GuideOf("cgra", config_.name, content, program));
  if (recorded > 0) {
    AddSample(sample, fmt::format("--beats {}", beats), &project);
    guide.sample = fmt::format(
        "The sample runs the first {} of {} launches of the network on one "
        "input (of the last one maybe\nnot all runs).",
        recorded, launches);
    LaunchFiles files = DescribeLaunches(*compiled, held, &guide);
    if (!files.constants.empty())
      project.others.emplace_back(hardware::kLaunchConstants, std::move(files.constants));
    project.others.emplace_back(hardware::kLaunchLoads, std::move(files.loads));
  }
  guide.start = LaunchesInFolder(recorded, launches, /*describes_all=*/true);
  guide.start +=
      "The machine has no registers: everything enters as beats of the stream `in`. After reset, "
      "send the\nbeats that load a configuration (`configuration.bin` holds the first one), then "
      "for each run a header\nand the data of its threads. Results leave on `out`, thread by "
      "thread "
      "in order. docs/cgra-machine.md of Kiln describes the beats that load a configuration.";
  guide.layout = fmt::format(
      "A beat has {} lanes of 32 bits, signed and little-endian, lane 0 first. A run sends, for "
      "each "
      "thread,\none beat per input of the graph, and receives one beat per output. `program.txt` "
      "lists the launches.\nThe host keeps the network's tensors and gathers what each launch "
      "reads.",
      config_.lanes);
  guide.places = hardware::DesignGuide::Places::kBeats;
  guide.inputs = {{.name = "in",
                   .bits = 32,
                   .axes = {{"lane", {{config_.lanes, 32}}}},
                   .format = "int32",
                   .meaning = "codes or sums of the launch's operands"}};
  guide.outputs = {{.name = "out",
                    .bits = 32,
                    .axes = {{"lane", {{config_.lanes, 32}}}},
                    .format = "int32",
                    .meaning = "codes or sums of the launch's results"}};
  guide.files = {{"configuration.json", "the first configuration, field by field"},
                 {"configuration.bin", "the beats that load it"},
                 {hardware::kLaunchConstants, "the constants of the launches"},
                 {hardware::kLaunchLoads, "the beats that load the configuration of each launch"},
                 {"example.bin", "the beats that load it and run a few threads on made-up data"}};
  hardware::AddSoc({sample, {static_cast<uint64_t>(beats)}}, 0, &project);
  return hardware::WriteRtlProject(project, folder);
}

StatusOr<Cost> CgraAccelerator::EstimateCost(int node_nm) const {
  return MachineCost(config_, node_nm);
}

StatusOr<Energy> CgraAccelerator::EstimateEnergy(const Program& program, int node_nm) const {
  KILN_ASSIGN_OR_RETURN(const NetworkProgram* compiled, OwnOf(program));
  std::vector<LaunchWork> work;
  for (const LoweredKernel& kernel : compiled->lowered()) {
    if (!kernel.machine.has_value()) continue;
    for (const Launch& launch : kernel.machine->launches) work.push_back(WorkOf(launch));
  }
  return EnergyOf(work, config_, node_nm);
}

StatusOr<Traffic> CgraAccelerator::EstimateTraffic(const Program& program) const {
  KILN_ASSIGN_OR_RETURN(const NetworkProgram* compiled, OwnOf(program));
  const int64_t beat_bytes = int64_t{4} * config_.lanes;
  Traffic traffic =
      Traffic::ForStreams(beat_bytes, hardware::kSocPortBytes, program.kernels().size());
  for (size_t k = 0; k < compiled->lowered().size(); ++k) {
    const LoweredKernel& kernel = compiled->lowered()[k];
    if (!kernel.machine.has_value()) continue;
    for (const Launch& launch : kernel.machine->launches) {
      const LaunchEvents events = EventsOf(WorkOf(launch));
      traffic.bytes[k][0] += events.beats_in * beat_bytes;
      traffic.bytes[k][1] += events.beats_out * beat_bytes;
    }
  }
  return traffic;
}

StatusOr<std::vector<KernelPicture>> CgraAccelerator::DrawKernels(const Program& program) const {
  KILN_ASSIGN_OR_RETURN(const NetworkProgram* compiled, OwnOf(program));
  std::vector<KernelPicture> pictures;
  int64_t left_out = 0;
  for (size_t k = 0; k < compiled->lowered().size(); ++k) {
    const LoweredKernel& kernel = compiled->lowered()[k];
    if (!kernel.machine.has_value()) continue;
    const std::vector<Launch>& launches = kernel.machine->launches;
    for (size_t l = 0; l < launches.size(); ++l) {
      if (pictures.size() == kMostPictures) {
        ++left_out;
        continue;
      }
      const MappedGraph& mapped = *launches[l].mapped;
      pictures.push_back(
          {.kernel = static_cast<int>(k),
           .title = fmt::format("launch {} of {}, interval {}, latency {}, runs: {}, threads: {}",
                                l + 1, launches.size(), mapped.mapping.initiation_interval,
                                mapped.latency, launches[l].runs, launches[l].threads),
           .svg = MappingSvg(mapped.graph, mapped.mapping, config_,
                             {.id = fmt::format("launch{}-", pictures.size())})});
    }
  }
  if (left_out > 0) {
    pictures.push_back({.kernel = pictures.back().kernel,
                        .title = fmt::format("launches that are not drawn: {} more", left_out),
                        .svg = ""});
  }
  return pictures;
}

StatusOr<std::unique_ptr<Accelerator>> ParseDesignPoint(std::string_view yaml,
                                                        std::string_view source) {
  KILN_ASSIGN_OR_RETURN(Config config, ParseConfig(yaml, source));
  return std::make_unique<CgraAccelerator>(std::move(config));
}

hardware::FamilyKeys DescribeKeys() {
  return {.family = Keys().family(),
          .introduction =
              "A design point is an array of tiles that repeats a schedule, and the rules by\n"
              "which computation graphs are mapped to it. The defaults are the Streaming\n"
              "Engine's, as `accelerators/se-*.yaml` are. Kiln builds machines of one row, with\n"
              "a limit on how long operands wait, a pipeline latency of 3 cycles (5 with\n"
              "`floats`), hops of one cycle, strict distances and exclusive links; other\n"
              "arrays exist for mapping only.\n"
              "[cgra.md](cgra.md) says how to use them, [cgra-machine.md](cgra-machine.md) what\n"
              "a machine does in which cycle.",
          .keys = Keys().Describe()};
}

namespace {

std::vector<LinkedLibrary> SolverLibraries() {
  return {{.name = "libcryptominisat5",
           .version = SatSolverVersion(),
           .known = "5.11.",
           .package = "libcryptominisat5-dev",
           .purpose = "kiln cgra: the mapper sat"}};
}

}  // namespace

FamilyEntry Entry() {
  return {.name = "cgra",
          .parse = &ParseDesignPoint,
          .describe = &DescribeKeys,
          .areas = &FamilyAreaModels,
          .libraries = &SolverLibraries};
}

}  // namespace kiln::cgra
