// Emits networks and estimates their costs on one device: each method checks that a program belongs
// to the family and calls the room that does the work. The end of the file registers the family.

#include "kiln/targets/dataflow/accelerator.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/hardware/stream_memory.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/support/markdown.h"
#include "kiln/targets/dataflow/compile/channels.h"
#include "kiln/targets/dataflow/config/keys.h"
#include "kiln/targets/dataflow/cost/area_model.h"
#include "kiln/targets/dataflow/cost/cost.h"
#include "kiln/targets/dataflow/cost/events.h"
#include "kiln/targets/dataflow/emit/emit.h"
#include "kiln/targets/dataflow/fold/ilp.h"
#include "kiln/targets/dataflow/isa/derived.h"
#include "kiln/targets/dataflow/isa/registers.h"
#include "kiln/targets/dataflow/run_network.h"
#include "kiln/targets/dataflow/simulate/functional/functional.h"
#include "kiln/targets/interface/family.h"
#include "kiln/targets/interface/folder_guide.h"

namespace kiln::dataflow {
namespace {

constexpr int kMostBits = 16;

// Returns the names of the integer formats `kind` from 16 bits down.
std::vector<std::string> Integers(const char* kind, int least) {
  std::vector<std::string> names;
  for (int bits = kMostBits; bits >= least; --bits) names.push_back(kind + std::to_string(bits));
  return names;
}

std::vector<const Pipeline*> PipelinesOf(const DataflowProgram& program) {
  std::vector<const Pipeline*> pipelines;
  for (const Segment& segment : program.segments()) pipelines.push_back(&segment.pipeline);
  return pipelines;
}

}  // namespace

std::vector<std::string> DataflowAccelerator::ActivationFormats() const {
  std::vector<std::string> names = Integers("int", 2);
  for (const std::string& name : Integers("uint", 1)) names.push_back(name);
  names.emplace_back("fp32");
  return names;
}

std::vector<std::string> DataflowAccelerator::WeightFormats() const { return Integers("int", 2); }

NamedRecipe DataflowAccelerator::OwnRecipe() const {
  return {.name = "int8", .recipe = Int8Recipe()};
}

namespace {

// Returns where the codes of an image are in a stream.
hardware::PlacedTensor PlaceOf(const std::string& name, const Channel& channel) {
  const int64_t beat = 8 * BytesOfBeat(channel), pixel = beat * channel.words_per_pixel();
  return {.name = name,
          .bits = channel.type.bits,
          .is_signed = channel.type.is_signed,
          .axes = {{"y", {{channel.map.height, pixel * channel.map.width}}},
                   {"x", {{channel.map.width, pixel}}},
                   {"channel",
                    {{channel.lanes, channel.type.bits}, {channel.words_per_pixel(), beat}}}},
          .format = fmt::format("{}int{}", channel.type.is_signed ? "" : "u", channel.type.bits)};
}

// Returns the streams of a pipeline in one direction.
std::vector<hardware::PlacedTensor> PlacesOf(const Pipeline& pipeline, StageKind kind) {
  std::vector<hardware::PlacedTensor> places;
  for (const int s : pipeline.Find(kind)) {
    const Stage& stage = pipeline.stages[static_cast<size_t>(s)];
    const bool in = kind == StageKind::kSource;
    places.push_back(PlaceOf(fmt::format("{}{}", in ? "in" : "out", places.size()),
                             in ? pipeline.output(stage) : pipeline.input(stage)));
  }
  return places;
}

// Says what the sums of a tensor mean, by lists with a number for each channel or one for all.
void SetLine(const ChannelLine& line, hardware::PlacedTensor* place) {
  place->scales = line.factors;
  place->offsets = line.offsets;
  place->meaning += line.factors.size() == 1
                        ? fmt::format(", value = {} * sum + {}", line.factors[0], line.offsets[0])
                        : ", value = scale of the channel * sum + offset of the channel";
  place->meaning += BoundsMeaning(line.low, line.high);
  if (line.factors.size() > 1) {
    place->meaning += fmt::format(
        "; `driver/kiln_tensors.h` has both lists, KILN_OUTPUT_{0}_SCALES and "
        "KILN_OUTPUT_{0}_OFFSETS",
        absl::AsciiStrToUpper(place->name));
  }
}

// Adds to each stream the tensor of the network that it carries, and what its codes mean.
void NameTensors(const DataflowProgram& program, size_t segment, hardware::DesignGuide* guide) {
  const Lowered& network = program.network();
  const auto name = [](const std::vector<HostTensor>& tensors, const std::vector<int>& maps,
                       std::vector<hardware::PlacedTensor>* places) {
    for (size_t i = 0; i < maps.size(); ++i) {
      const auto tensor = std::ranges::find(tensors, maps[i],
                                            [](const HostTensor& from) { return from.place.map; });
      if (tensor == tensors.end()) {
        (*places)[i].meaning = "a tensor of another segment";
        continue;
      }
      (*places)[i].meaning = "`" + hardware::SampleName(tensor->value->name()) + "`";
      const auto& annotation = tensor->value->quantisation();
      if (tensor->line.has_value()) {
        SetLine(*tensor->line, &(*places)[i]);
      } else if (annotation.has_value() && annotation->scales.size() == 1) {
        const int64_t zero = annotation->zero_points.empty() ? 0 : annotation->zero_points[0];
        (*places)[i].meaning += ", " + CodeMeaning(annotation->scales[0], zero);
        (*places)[i].scales = {annotation->scales[0]};
        (*places)[i].zero_point = zero;
      }
    }
  };
  for (const NetworkStep& step : network.steps) {
    if (step.host.has_value() || step.segment != static_cast<int>(segment)) continue;
    name(step.sends, SourceMaps(network, step.segment), &guide->inputs);
    name(step.receives, SinkMaps(network, step.segment), &guide->outputs);
  }
}

// Returns the samples of all segments; none if the batch has no inputs.
StatusOr<std::vector<hardware::SampleRun>> RecordSamples(const DataflowProgram& program,
                                                         const Batch& batch) {
  std::vector<hardware::SampleRun> samples(program.segments().size());
  if (batch.inputs.empty()) return samples;
  const std::unique_ptr<TensorMachine> machine = MakeNetworkMachine(
      program,
      [&](size_t segment, const std::vector<std::vector<int64_t>>& inputs,
          Trace*) -> StatusOr<std::vector<std::vector<int64_t>>> {
        const Pipeline& pipeline = program.segments()[segment].pipeline;
        std::vector<std::vector<int64_t>> outputs = FunctionalPipeline(pipeline).Run(inputs);
        hardware::SampleRun& sample = samples[segment];
        size_t number = 0;
        for (const int s : pipeline.Find(StageKind::kSource)) {
          const Stage& stage = pipeline.stages[static_cast<size_t>(s)];
          sample.Send(number, BeatsOf(pipeline.output(stage), inputs[number]));
          ++number;
        }
        number = 0;
        const std::vector<hardware::PlacedTensor> places = PlacesOf(pipeline, StageKind::kSink);
        for (const int s : pipeline.Find(StageKind::kSink)) {
          const Stage& stage = pipeline.stages[static_cast<size_t>(s)];
          sample.Expect(places[number], BeatsOf(pipeline.input(stage), outputs[number]), number);
          ++number;
        }
        return outputs;
      });
  KILN_RETURN_IF_ERROR(RunImage(*machine, batch.inputs));
  return samples;
}

std::string StartOf(const Pipeline& pipeline) {
  const std::vector<int> ports = pipeline.Find(StageKind::kWeightStream);
  const hardware::RegisterMap map =
      Registers(static_cast<int>(pipeline.channels.size()), static_cast<int>(ports.size()));
  std::string text;
  if (!ports.empty()) {
    text =
        "1. Reset the machine. Load `weights.bin` into memory, at any address that is a multiple "
        "of 4096.\n2. Over `control`, write the address of each port's weights to its base "
        "address register:\n\n   | port | registers (low, high) | offset in `weights.bin` "
        "|\n   |---|---|---|\n";
    const hardware::Register& base = hardware::FindRegister(map, "BASE");
    for (uint32_t i = 0; i < ports.size(); ++i) {
      const uint32_t address = base.address + base.stride * i;
      text += fmt::format("   | `weights{}` | 0x{:x}, 0x{:x} | {} |\n", i, address, address + 4,
                          pipeline.stages[static_cast<size_t>(ports[i])].base_address);
    }
    text += fmt::format("\n3. Write 1 to register 0x{:03x} (run).\n4. Send",
                        hardware::FindRegister(map, "CONTROL").address);
  } else {
    text = "1. Reset the machine. It runs from then on.\n2. Send";
  }
  return text +
         " the beats of an image on every stream in, and take the beats of every stream out. "
         "The next\n   image may follow at once.";
}

}  // namespace

namespace {

// The folder of a segment of a network that was cut.
std::string SegmentFolder(size_t segment) { return fmt::format("segment{}", segment); }

// Returns README.md for the folder of a network that was cut: the segments and the order of steps.
std::string ReadmeOfSegments(const DataflowProgram& program, const FolderContent& content) {
  const Lowered& network = program.network();
  std::string text = fmt::format(
      "# {}: an accelerator of the family dataflow, in {} segments\n\n"
      "Kiln cut the network `{}` into {} machines and wrote each to a folder of its own, which "
      "holds "
      "a README.md, the SystemVerilog and a sample. A folder needs nothing of Kiln or of the other "
      "folders.\n\n## Commands\n\n```sh\n",
      hardware::SampleName(program.config().name), program.segments().size(),
      hardware::SampleName(content.network), program.segments().size());
  for (size_t i = 0; i < program.segments().size(); ++i)
    text += fmt::format("make -C {} sim    # or lint, waves, synth\n", SegmentFolder(i));
  text +=
      "```\n\n## Files\n\n| file | what it holds |\n|---|---|\n| `README.md` | this page |\n"
      "| `kernels.txt` | the kernels of the network, with the cycles that the compiler estimates "
      "|\n";
  for (size_t i = 0; i < program.segments().size(); ++i)
    text += fmt::format("| `{}/` | the machine of segment {} |\n", SegmentFolder(i), i);
  text +=
      "| `emitted.txt` | the files that Kiln wrote, for the next emission to this folder |\n"
      "\n## Run the network\n\nAn image takes these steps in order. The host keeps the network's "
      "tensors between them.\n\n";
  int number = 1;
  for (const NetworkStep& step : network.steps) {
    std::string line = fmt::format("{}. ", number++);
    if (step.host.has_value()) {
      const auto kernel = static_cast<size_t>(step.kernel);
      line += fmt::format("Compute `{}` on the host.",
                          hardware::SampleName(network.host_kernels[kernel].name));
    } else {
      const auto names = [](const std::vector<HostTensor>& tensors) {
        std::string list;
        for (const HostTensor& tensor : tensors) {
          list += fmt::format("{}`{}`", list.empty() ? "" : ", ",
                              hardware::SampleName(tensor.value->name()));
        }
        return list.empty() ? std::string("the streams of an earlier segment") : list;
      };
      line += fmt::format(
          "`{}`: send {}, and take {}.", SegmentFolder(static_cast<size_t>(step.segment)),
          names(step.sends),
          step.receives.empty() ? "the streams for a later segment" : names(step.receives));
    }
    text += line + '\n';
  }
  text +=
      "\nThe README.md of a segment lists its streams, where the codes of each tensor are, and "
      "what "
      "they mean. A stream without a tensor's name carries a tensor of another segment.\n";
  text +=
      "\n## Segments in one system\n\nModules and headers of different segments have the same "
      "names with different contents. Read no two segments into one design: make an IP of each "
      "one, for instance with `vivado -mode batch -source vivado.tcl -tclargs package` in its "
      "folder, and compile its driver's files into an object of its own.\n";
  if (!content.figures.empty()) text += "\n## Figures\n\n" + content.figures;
  return ReflowMarkdown(text);
}

}  // namespace

Status DataflowAccelerator::EmitRtl(const Program& program, const FolderContent& content,
                                    const std::filesystem::path& folder) const {
  KILN_ASSIGN_OR_RETURN(const DataflowProgram* compiled, OwnOf(program));
  const auto& segments = compiled->segments();
  KILN_ASSIGN_OR_RETURN(const std::vector<hardware::SampleRun> samples,
                        RecordSamples(*compiled, content.sample));
  std::vector<std::pair<std::string, hardware::RtlProject>> projects;
  for (size_t i = 0; i < segments.size(); ++i) {
    const Pipeline& pipeline = segments[i].pipeline;
    hardware::RtlProject& project =
        projects.emplace_back(SegmentFolder(i), ProjectOf(pipeline, EmitOptionsOf(config_))).second;
    project.others.emplace_back("design.yaml", PrintConfig(config_));
    AddSample(samples[i], "", &project);
    hardware::DesignGuide& guide =
        project.guide.emplace(GuideOf("dataflow", config_.name, content, program));
    if (segments.size() > 1) {
      guide.part = SegmentFolder(i);
      // The files above the segments list the steps, the kernels and the figures of the network.
      guide.host.clear();
      guide.kernels.clear();
      guide.figures.clear();
    }
    guide.start = StartOf(pipeline);
    int number = 0;
    for (const int s : pipeline.Find(StageKind::kWeightStream)) {
      const Stage& stage = pipeline.stages[static_cast<size_t>(s)];
      guide.bus_requests += fmt::format("{}`weights{}_` has at most {} requests in flight.",
                                        guide.bus_requests.empty() ? "" : " ", number++,
                                        OutstandingOf(pipeline, stage));
    }
    guide.places = hardware::DesignGuide::Places::kStreams;
    guide.inputs = PlacesOf(pipeline, StageKind::kSource);
    guide.outputs = PlacesOf(pipeline, StageKind::kSink);
    guide.layout =
        "Positions count the bytes of a stream from the first one of an image. A beat "
        "holds a word of\nconsecutive channels, the first one in the lowest bits.";
    NameTensors(*compiled, i, &guide);
    if (!samples[i].empty()) {
      guide.sample = segments.size() == 1
                         ? "The sample runs one input through the whole network."
                         : fmt::format(
                               "The sample runs segment {} of {} on one input of the "
                               "network.",
                               i, segments.size());
    }
    guide.files = {{"pipeline.txt", "the stages and channels of the machine"},
                   {"weights.bin", "the weights that the machine reads from memory"}};
    hardware::StreamSample streams{samples[i], {}};
    for (const int s : pipeline.Find(StageKind::kSink)) {
      const Stage& stage = pipeline.stages[static_cast<size_t>(s)];
      streams.beats.push_back(static_cast<uint64_t>(pipeline.input(stage).words()));
    }
    const std::vector<uint8_t> weights = WeightMemoryOf(pipeline);
    hardware::AddSoc(streams, 0, &project, /*observed=*/false,
                     WeightConstantsOf(pipeline, weights));
  }
  if (projects.size() == 1) return hardware::WriteRtlProject(projects[0].second, folder);
  return hardware::WriteFolderOfProjects(
      projects,
      {{"README.md", ReadmeOfSegments(*compiled, content)}, {hardware::kKernels, content.kernels}},
      folder);
}

StatusOr<int64_t> DataflowAccelerator::IntervalBehind(const Program& program,
                                                      const RtlOptions& rtl) const {
  KILN_ASSIGN_OR_RETURN(const DataflowProgram* compiled, OwnOf(program));
  return IntervalBehindMemory(*compiled, rtl);
}

StatusOr<Cost> DataflowAccelerator::EstimateCost(int node_nm) const {
  return DeviceCost(config_, node_nm);
}

StatusOr<Cost> DataflowAccelerator::EstimateProgramCost(const Program& program, int node_nm) const {
  KILN_ASSIGN_OR_RETURN(const DataflowProgram* compiled, OwnOf(program));
  return PipelineCost(PipelinesOf(*compiled), config_, node_nm);
}

StatusOr<Energy> DataflowAccelerator::EstimateEnergy(const Program& program, int node_nm) const {
  KILN_ASSIGN_OR_RETURN(const DataflowProgram* compiled, OwnOf(program));
  return EnergyOf(PipelinesOf(*compiled), config_.ultrascale, node_nm);
}

StatusOr<Traffic> DataflowAccelerator::EstimateTraffic(const Program& program) const {
  KILN_ASSIGN_OR_RETURN(const DataflowProgram* compiled, OwnOf(program));
  std::vector<StageTraffic> stages;
  std::vector<MemoryPort> ports;
  for (const Pipeline* pipeline : PipelinesOf(*compiled)) {
    for (StageTraffic& stage : TrafficOf(*pipeline)) {
      ports.push_back(stage.port);
      stages.push_back(std::move(stage));
    }
  }
  Traffic traffic = Traffic::For(std::move(ports), program.kernels().size());
  traffic.bus_bytes_per_cycle = hardware::kSocPortBytes;  // a segment's own
  for (size_t p = 0; p < stages.size(); ++p) {
    if (stages[p].layer < 0) continue;  // a map that only passes through a segment
    const int kernel = compiled->KernelOfLayer(static_cast<size_t>(stages[p].layer));
    traffic.bytes[static_cast<size_t>(kernel)][p] = stages[p].bytes;
  }
  return traffic;
}

StatusOr<std::unique_ptr<Accelerator>> ParseDesignPoint(std::string_view yaml,
                                                        std::string_view source) {
  KILN_ASSIGN_OR_RETURN(Config config, ParseConfig(yaml, source));
  return std::make_unique<DataflowAccelerator>(std::move(config));
}

hardware::FamilyKeys DescribeKeys() {
  return {.family = Keys().family(),
          .introduction =
              "A design point is a device and its clock. Kiln builds the hardware for a network\n"
              "when it compiles: every layer becomes a stage, folded so that the pipeline is as\n"
              "fast as the device allows. [dataflow.md](dataflow.md) says how to use it,\n"
              "[dataflow-machine.md](dataflow-machine.md) what the stages compute and when.",
          .keys = Keys().Describe()};
}

namespace {

std::vector<LinkedLibrary> SolverLibraries() {
  return {{.name = "libcbc",
           .version = CbcVersion(),
           .known = "2.10.",
           .package = "coinor-libcbc-dev",
           .purpose = "kiln dataflow: the search cbc"}};
}

}  // namespace

FamilyEntry Entry() {
  return {.name = "dataflow",
          .parse = &ParseDesignPoint,
          .describe = &DescribeKeys,
          .areas = &FamilyAreaModels,
          .libraries = &SolverLibraries};
}

}  // namespace kiln::dataflow
