// Lays out records, and divides layers that do not fit the machine as a whole.

#include "kiln/targets/binary/compile/block.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "kiln/targets/binary/isa/stream.h"
#include "kiln/targets/interface/kernel_info.h"
#include "kiln/targets/lower/refusal.h"

namespace kiln::binary {
namespace {

int64_t RoundedUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
int CeilDiv(int64_t a, int64_t b) { return static_cast<int>((a + b - 1) / b); }

bool Pads(const Layer& layer) {
  return layer.pad_top > 0 || layer.pad_left > 0 ||
         (layer.out_height - 1) * layer.stride + layer.kernel_height > layer.height ||
         (layer.out_width - 1) * layer.stride + layer.kernel_width > layer.width;
}

// Sets what is added to the results of a stage: channels of the input, if it is among these, or of
// a part of the record of its own. `pixels` says whether the record begins with a pixel of the
// input as it is.
void AddSkip(const BlockLayer& layer, int number, int64_t first_channel, int64_t channels, int x,
             bool pixels, int64_t* codes, Launch* launch) {
  const Config& config = launch->program.config;
  StageProgram& s = launch->program.stages[static_cast<size_t>(number)];
  s.has_skip = true;
  s.skip = layer.sum->numbers;
  const int64_t from = layer.sum->first_channel + first_channel;
  const RecordPart& input = launch->records[0];
  if (pixels && layer.sum->added == input.value && input.x == x && input.y == 0 &&
      from % config.columns(number) == 0 && from + s.channels(config, number) <= *codes) {
    s.skip.first_code = static_cast<int>(from);
    return;
  }
  const int64_t begin = RoundedUp(*codes, config.columns(number));
  s.skip.first_code = static_cast<int>(begin);
  launch->records.push_back({.value = layer.sum->added,
                             .first_channel = from,
                             .channels = channels,
                             .first_code = s.skip.first_code,
                             .y = 0,
                             .x = x,
                             .shift = layer.sum->added_codes.shift});
  *codes = begin + s.channels(config, number);
}

// Completes a launch whose stages and input are set.
StatusOr<Launch> Finished(std::span<const BlockLayer> layers, std::span<const LayerPart> parts,
                          Launch launch) {
  BlockProgram& program = launch.program;
  const Config& config = program.config;
  const int64_t input = RoundedUp(program.stages[0].in_channels, config.channels(0));
  program.input_beats = static_cast<int>(input / config.beat_codes());
  int64_t codes = input;
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerPart& part = parts[i];
    const auto number = static_cast<int>(i);
    if (layers[i].sum.has_value())
      AddSkip(layers[i], number, part.first_channel, part.channels, part.first_column,
              !parts[0].folded_rows, &codes, &launch);
    program.stages[i].emits = layers[i].leaves_as != nullptr;
    if (layers[i].leaves_as == nullptr) continue;
    launch.results.push_back({.stage = number,
                              .value = layers[i].leaves_as,
                              .first_channel = layers[i].first_channel + part.first_channel,
                              .channels = part.channels,
                              .x = part.first_column,
                              .shift = layers[i].sum.has_value() ? layers[i].sum->sum_codes.shift
                                                                 : layers[i].layer.out.shift});
  }
  program.record_beats = CeilDiv(codes, config.beat_codes());
  if (const Status fits = Check(program); !fits.ok()) return ToHost(std::string(fits.message()));
  return launch;
}

// Returns a launch of parts of layers: all channels of the layers, if there are several.
StatusOr<Launch> LaunchOf(std::span<const BlockLayer> layers, std::span<LayerPart> parts,
                          const Config& config) {
  Launch launch;
  launch.program.config = config;
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i].layer;
    const auto number = static_cast<int>(i);
    if (i > 0)
      parts[i].in_channels =
          static_cast<int>(launch.program.stages.back().channels(config, number - 1));
    if (layer.in.zero != 0 && Pads(layer) && !parts[i].padded_input)
      return ToHost("padding with a zero point inside of a block");
    KILN_ASSIGN_OR_RETURN(StageProgram stage, StageOf(layer, parts[i], config, number));
    launch.program.stages.push_back(std::move(stage));
  }
  const Layer& first = layers[0].layer;
  const LayerPart& part = parts[0];
  // The column of the input that the first window of the part begins with.
  const int begin = part.first_column * first.stride - first.pad_left;
  RecordPart pixel = {.value = first.input,
                      .first_channel = 0,
                      .channels = first.in_channels,
                      .first_code = 0,
                      .y = part.padded_input ? -first.pad_top : 0,
                      .x = part.padded_input ? begin : 0,
                      .outside = first.in.zero,
                      .shift = first.in.shift};
  if (!part.folded_rows) launch.records.push_back(pixel);
  for (int place = 0; part.folded_rows && place < first.kernel_width; ++place) {
    pixel.x = begin + place;
    pixel.first_code = place * first.in_channels;
    launch.records.push_back(pixel);
  }
  return Finished(layers, parts, std::move(launch));
}

// Returns whether pixels of the input can have the channels of a row of the window.
bool CanFoldRows(const Layer& layer, const Config& config) {
  // A stage with a map of one row and a window of one column reads the rows of a product (Records
  // of run_network.cc), so that other layers must not look like one.
  return layer.kernel_width > 1 && layer.kernel_width * layer.in_channels <= config.channels(0) &&
         (layer.out_height > 1 || layer.height == 1);
}

StatusOr<std::vector<Launch>> LaunchesWith(std::span<const BlockLayer> layers, const Config& config,
                                           bool folded_rows) {
  std::vector<Launch> launches;
  const Layer& first = layers[0].layer;
  if (layers.size() > 1) {
    std::vector<LayerPart> parts;
    for (const BlockLayer& layer : layers) {
      parts.push_back({.channels = layer.layer.out_channels, .columns = layer.layer.out_width});
    }
    parts[0].folded_rows = folded_rows;
    KILN_ASSIGN_OR_RETURN(Launch launch, LaunchOf(layers, parts, config));
    launches.push_back(std::move(launch));
    return launches;
  }
  // A layer alone: as many output channels at once as the weights fit, as many columns as rows fit.
  LayerPart whole = {.channels = first.out_channels, .columns = first.out_width};
  whole.folded_rows = folded_rows;
  KILN_ASSIGN_OR_RETURN(const StageProgram stage, StageOf(first, whole, config, 0));
  const StageLayout layout = LayoutOf(stage, config, 0);
  const int words = stage.planes() * layout.rounds;  // of one output channel of each column
  const int list = std::min(config.column_depth, config.weight_words / words);
  if (list == 0) {
    return ToHost(fmt::format("one output channel has {} words of weights, a column {}", words,
                              config.weight_words));
  }
  const int lists = CeilDiv(first.out_channels, config.columns(0));
  const int channel_parts = CeilDiv(lists, list);
  const int channels = CeilDiv(lists, channel_parts) * config.columns(0);
  const int pitch = config.row_words / (layout.row_slots / config.group);
  const int in_columns = pitch / layout.chunks;
  const bool strips = in_columns < stage.width;
  const int most = strips ? (in_columns - stage.kernel_width) / first.stride + 1 : first.out_width;
  if (in_columns < stage.kernel_width || most < 1) {
    return ToHost(fmt::format("a window takes {} words of a row memory, which has {}",
                              stage.kernel_width * layout.chunks * layout.row_slots / config.group,
                              config.row_words));
  }
  const int columns = CeilDiv(first.out_width, CeilDiv(first.out_width, most));
  const bool padded = strips || (first.in.zero != 0 && Pads(first));
  for (int x = 0; x < first.out_width; x += columns) {
    for (int n = 0; n < first.out_channels; n += channels) {
      LayerPart part = {.first_channel = n,
                        .channels = std::min(channels, first.out_channels - n),
                        .first_column = x,
                        .columns = std::min(columns, first.out_width - x),
                        .padded_input = padded,
                        .folded_rows = folded_rows};
      KILN_ASSIGN_OR_RETURN(Launch launch, LaunchOf(layers, {&part, 1}, config));
      launches.push_back(std::move(launch));
    }
  }
  return launches;
}

}  // namespace

StatusOr<std::vector<Launch>> LaunchesOf(std::span<const BlockLayer> layers, const Config& config) {
  auto launches = LaunchesWith(layers, config, false);
  if (!CanFoldRows(layers[0].layer, config)) return launches;
  auto folded = LaunchesWith(layers, config, true);
  if (!folded.ok()) return launches;
  if (launches.ok() && EstimateCycles(*launches) <= EstimateCycles(*folded)) return launches;
  return folded;
}

int64_t EstimateCycles(std::span<const Launch> launches) {
  int64_t cycles = 0;
  for (const Launch& launch : launches) {
    const BlockProgram& program = launch.program;
    int64_t running =
        int64_t{program.stages[0].height} * program.stages[0].width * program.record_beats;
    for (size_t i = 0; i < program.stages.size(); ++i) {
      running =
          std::max(running, RoundCycles(program.stages[i], program.config, static_cast<int>(i)));
    }
    cycles += LoadBeats(program) + running;
  }
  return cycles;
}

namespace {

// Returns the values of a layer that no stage rounds. A stage rounds the result of the layer, also
// if a sum or a concatenation follows on the machine.
std::vector<std::string> UnroundedOf(const BlockLayer& layer) {
  const auto joined = std::ranges::find_if(layer.nodes, [&layer](const Node* node) {
    return node->op() == Op::kConcat ||
           (layer.sum.has_value() &&
            std::ranges::find(node->operands(), layer.sum->added) != node->operands().end());
  });
  const std::span<const Node* const> nodes(layer.nodes);
  const auto before = static_cast<size_t>(joined - layer.nodes.begin());
  std::vector<std::string> names = ValuesWithin(nodes.first(before));
  for (std::string& name : ValuesWithin(nodes.subspan(before))) names.push_back(std::move(name));
  return names;
}

}  // namespace

KernelInfo InfoOf(std::span<const BlockLayer> layers, std::span<const Launch> launches,
                  const Config& config) {
  std::vector<const Node*> nodes;
  std::string operation;
  int64_t products = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i].layer;
    nodes.insert(nodes.end(), layers[i].nodes.begin(), layers[i].nodes.end());
    operation += fmt::format("{}conv {}x{} {}->{} /{} @{}x{} w{}{}", i == 0 ? "" : ", ",
                             layer.kernel_height, layer.kernel_width, layer.in_channels,
                             layer.out_channels, layer.stride, layer.height, layer.width,
                             layer.bits, layers[i].sum.has_value() ? " +add" : "");
    products += layer.macs() * layer.bits * ((layer.in.bits - 1) / kDigitBits + 1);
  }
  KernelInfo info = KernelInfoOf(nodes, layers.size() == 1 ? "stage 0" : "stages", operation);
  for (const BlockLayer& layer : layers) {
    for (std::string& name : UnroundedOf(layer)) info.unrounded_values.push_back(std::move(name));
  }
  const Launch& first = launches.front();
  info.schedule =
      fmt::format("{} launch{} of {} stage{}, {} beats a pixel", launches.size(),
                  launches.size() == 1 ? "" : "es", first.program.stages.size(),
                  first.program.stages.size() == 1 ? "" : "s", first.program.record_beats);
  if (first.program.stages[0].kernel_width != layers[0].layer.kernel_width)
    info.schedule += ", a row of the window in each";
  // The stages that the block uses cannot do more products in a cycle.
  int64_t most = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto number = static_cast<int>(i);
    most += int64_t{config.tables(number)} * config.group * config.columns(number);
  }
  const auto cycles = static_cast<double>(EstimateCycles(launches));
  const int64_t least = (products + most - 1) / most;
  const auto bound = static_cast<double>(least);
  info.certificate = {.cost = cycles,
                      .lower_bound = std::min(bound, cycles),
                      .optimal = cycles <= bound,
                      .unit = "cycles",
                      .bound_from = "products of signs and digits, without tests"};
  return info;
}

}  // namespace kiln::binary
