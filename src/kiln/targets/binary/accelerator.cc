// Emits networks and estimates their costs on one machine: each method checks that a program
// belongs to the family and calls the room that does the work. The end of the file registers the
// family.

#include "kiln/targets/binary/accelerator.h"

#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/hardware/stream_memory.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/targets/binary/config/keys.h"
#include "kiln/targets/binary/cost/area_model.h"
#include "kiln/targets/binary/cost/cost.h"
#include "kiln/targets/binary/cost/events.h"
#include "kiln/targets/binary/emit/emit.h"
#include "kiln/targets/binary/isa/stream.h"
#include "kiln/targets/binary/launch_guide.h"
#include "kiln/targets/binary/run_network.h"
#include "kiln/targets/binary/simulate/functional/functional.h"
#include "kiln/targets/interface/folder_guide.h"

namespace kiln::binary {
namespace {

std::vector<std::string> IntegersUpTo(int bits, std::initializer_list<const char*> kinds) {
  std::vector<std::string> names;
  for (const char* kind : kinds) {
    for (int b = bits; b >= 2; --b) names.push_back(fmt::format("{}{}", kind, b));
  }
  return names;
}

}  // namespace

std::vector<std::string> BinaryAccelerator::ActivationFormats() const {
  return IntegersUpTo(config_.activation_bits, {"uint", "int"});
}

std::vector<std::string> BinaryAccelerator::WeightFormats() const {
  return IntegersUpTo(16, {"int"});
}

NamedRecipe BinaryAccelerator::OwnRecipe() const {
  if (config_.activation_bits >= 8) return {.name = "int8", .recipe = Int8Recipe()};
  return {.name = "int4", .recipe = *RecipeByName("int4")};
}

namespace {

// Records launches at the functional level until the sample has kMostSampleBytes bytes, at least
// one. The streams out are the stages.
StatusOr<hardware::StreamSample> RecordSample(const NetworkProgram& program, const Batch& batch,
                                              int stages, std::vector<HeldLaunch>* held) {
  hardware::StreamSample streams;
  hardware::SampleRun& sample = streams.run;
  streams.beats.assign(static_cast<size_t>(stages), 0);
  if (batch.inputs.empty()) return streams;
  sample.Split();
  const auto record = [&](size_t kernel, size_t launch, const BlockProgram& block,
                          std::span<const int32_t> records, const StageResults& results) {
    std::vector<uint8_t> stream;
    AppendLoad(block, &stream);
    AppendRun(block, records, &stream);
    if (!held->empty() && sample.bytes() + stream.size() > kMostSampleBytes) return false;
    held->push_back({kernel, launch, sample.InputOf(0).size()});
    sample.Send(0, stream);
    const int64_t beat = block.config.beat_bytes, bits = block.config.activation_bits;
    for (size_t i = 0; i < block.stages.size(); ++i) {
      const StageProgram& s = block.stages[i];
      if (!s.emits) continue;
      const auto stage = static_cast<int>(i);
      const int64_t columns = block.config.columns(stage), pixel = 8 * beat * s.list;
      std::vector<uint8_t> out;
      for (size_t at = 0; at < results[i].size(); at += static_cast<size_t>(columns)) {
        AppendResult(block.config, stage,
                     std::span(results[i]).subspan(at, static_cast<size_t>(columns)), &out);
      }
      sample.Expect({.name = program.kernels()[kernel].name,
                     .base = streams.beats[i] * static_cast<uint64_t>(beat),
                     .bits = static_cast<int>(bits),
                     .is_signed = s.low < 0,
                     .axes = {{"y", {{s.out_height, pixel * s.out_width}}},
                              {"x", {{s.out_width, pixel}}},
                              {"channel", {{columns, bits}, {s.list, 8 * beat}}}}},
                    out, i);
      streams.beats[i] += out.size() / static_cast<size_t>(beat);
    }
    return true;
  };
  bool full = false;
  const std::unique_ptr<TensorMachine> machine =
      MakeNetworkMachine(program,
                         [&](const KernelPlace& place, size_t launch,
                             std::span<const int32_t> records, Trace*) -> StatusOr<StageResults> {
                           const auto kernel = static_cast<size_t>(place.kernel);
                           const BlockProgram& block = program.launches()[kernel][launch].program;
                           FunctionalResult result = RunFunctional(block, records, {}, {});
                           full = full || !record(kernel, launch, block, records, result.results);
                           return std::move(result.results);
                         });
  KILN_RETURN_IF_ERROR(RunImage(*machine, batch.inputs));
  return streams;
}

}  // namespace

Status BinaryAccelerator::EmitRtl(const Program& program, const FolderContent& content,
                                  const std::filesystem::path& folder) const {
  KILN_ASSIGN_OR_RETURN(const NetworkProgram* own, OwnOf(program));
  // The first launch is in the folder; a network may have none on the machine.
  hardware::RtlProject project = ProjectOf(config_);
  int64_t launches = 0;
  for (const auto& of_kernel : own->launches()) {
    if (launches == 0 && !of_kernel.empty()) project = ProjectOf(of_kernel.front().program);
    launches += std::ssize(of_kernel);
  }
  std::erase_if(project.others, [](const auto& file) { return file.first == "program.txt"; });
  project.others.emplace_back("program.txt", own->Print());
  std::vector<HeldLaunch> held;
  KILN_ASSIGN_OR_RETURN(const hardware::StreamSample streams,
                        RecordSample(*own, content.sample, config_.stages, &held));
  const int64_t recorded = std::ssize(held);
  hardware::DesignGuide& guide =
      project.guide.emplace(GuideOf("binary", config_.name, content, program));
  if (recorded > 0) {
    const uint64_t beats = std::accumulate(streams.beats.begin(), streams.beats.end(), uint64_t{0});
    AddSample(streams.run, fmt::format("--beats {}", beats), &project);
    guide.sample =
        fmt::format("The sample runs the first {} of {} launches of the network on one input.",
                    recorded, launches);
    DescribeLaunches(*own, held, &guide);
  }
  guide.start = LaunchesInFolder(recorded, launches, /*describes_all=*/false);
  guide.start +=
      "The machine has no registers: everything enters as beats of the stream `in`. After reset, "
      "send the\nbeats that load a program (`program.bin` holds the first one), then for each run "
      "a "
      "header and the\nrecords of all pixels, rows first. Results leave on `out`. "
      "docs/binary-machine.md of Kiln describes the beats that load a program.";
  guide.layout = fmt::format(
      "A beat has {} bytes. A record has the codes of a pixel, {} bits each, the low bits of a "
      "beat "
      "first; a\nbeat holds {} codes. A beat of the results holds one code of each column of a "
      "stage, and in its last\nbyte the number of the stage. `program.txt` lists the launches. The "
      "host keeps the network's tensors\nand gathers what each launch reads.",
      config_.beat_bytes, config_.activation_bits, config_.beat_codes());
  guide.places = hardware::DesignGuide::Places::kBeats;
  guide.inputs = {{.name = "in",
                   .bits = config_.activation_bits,
                   .axes = {{"code", {{config_.beat_codes(), config_.activation_bits}}}},
                   .format = fmt::format("{} bits", config_.activation_bits),
                   .meaning = "codes of the launch's operands"}};
  for (int stage = 0; stage < config_.stages; ++stage) {
    guide.outputs.push_back(
        {.name = fmt::format("out:stage{}", stage),
         .bits = config_.activation_bits,
         .axes = {{"column", {{config_.columns(stage), config_.activation_bits}}}},
         .format = fmt::format("{} bits", config_.activation_bits),
         .meaning =
             fmt::format("codes of the launch's results, in beats whose last byte is {}", stage)});
  }
  guide.files = {{"program.bin", "the beats that load the first launch's program"},
                 {"example.bin", "the beats that load it and run it on made-up pixels"}};
  hardware::AddSoc(streams, config_.stages, &project);
  return hardware::WriteRtlProject(project, folder);
}

StatusOr<Cost> BinaryAccelerator::EstimateCost(int node_nm) const {
  return MachineCost(config_, node_nm);
}

StatusOr<Energy> BinaryAccelerator::EstimateEnergy(const Program& program, int node_nm) const {
  KILN_ASSIGN_OR_RETURN(const NetworkProgram* own, OwnOf(program));
  std::vector<const BlockProgram*> programs;
  for (const auto& launches : own->launches()) {
    for (const Launch& launch : launches) programs.push_back(&launch.program);
  }
  return EnergyOf(programs, config_, node_nm);
}

StatusOr<Traffic> BinaryAccelerator::EstimateTraffic(const Program& program) const {
  KILN_ASSIGN_OR_RETURN(const NetworkProgram* own, OwnOf(program));
  Traffic traffic =
      Traffic::ForStreams(config_.beat_bytes, hardware::kSocPortBytes, program.kernels().size());
  for (size_t k = 0; k < own->launches().size(); ++k) {
    for (const Launch& launch : own->launches()[k]) {
      const LaunchEvents events = EventsOf(launch.program);
      traffic.bytes[k][0] += events.beats_in * config_.beat_bytes;
      traffic.bytes[k][1] += events.beats_out * config_.beat_bytes;
    }
  }
  return traffic;
}

StatusOr<std::unique_ptr<Accelerator>> ParseDesignPoint(std::string_view yaml,
                                                        std::string_view source) {
  KILN_ASSIGN_OR_RETURN(Config config, ParseConfig(yaml, source));
  return std::make_unique<BinaryAccelerator>(std::move(config));
}

hardware::FamilyKeys DescribeKeys() {
  return {
      .family = Keys().family(),
      .introduction =
          "A design point is a machine of one to three stages. A stage keeps tables with the\n"
          "signed sums of a few activations and looks up, for each output channel, the entry\n"
          "that the signs of its weights select. The defaults are those of\n"
          "`accelerators/binary-176.yaml`, but for the clock. [binary.md](binary.md) says how to\n"
          "use them, [binary-machine.md](binary-machine.md) what a machine does in which cycle.",
      .keys = Keys().Describe()};
}

FamilyEntry Entry() {
  return {.name = "binary",
          .parse = &ParseDesignPoint,
          .describe = &DescribeKeys,
          .areas = &FamilyAreaModels};
}

}  // namespace kiln::binary
