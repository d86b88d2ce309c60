// Lists the modules of each stage with their parameters, and the memories that the stage has.

#include "kiln/targets/dataflow/cost/parts.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/emit/images.h"
#include "kiln/targets/dataflow/isa/derived.h"

namespace kiln::dataflow {
namespace {

using hardware::ModuleParameters;

void AddWeightSizes(const Pipeline& pipeline, const Stage& stage, StageSizes* sizes) {
  const Channel& in = pipeline.input(stage);
  const WeightWords words = WeightWordsOf(pipeline, stage);
  sizes->outputs = stage.kind == StageKind::kConvolution ? stage.elements : in.lanes;
  sizes->products = words.weights;
  sizes->terms = sizes->products / sizes->outputs;
  sizes->weight_words = words.words;
  sizes->weight_bits = sizes->products * stage.weight_bits;
  sizes->tree_bits = in.type.bits + stage.weight_bits + AdderLevels(sizes->terms);
  sizes->streams_weights = pipeline.Streams(stage);
  sizes->sum_bits = stage.kind == StageKind::kConvolution
                        ? std::max<int64_t>(stage.sum_bits, sizes->tree_bits)
                        : sizes->tree_bits;
}

void AddWindowSizes(const Pipeline& pipeline, const Stage& stage, StageSizes* sizes) {
  const Channel& in = pipeline.input(stage);
  const Window& w = stage.window;
  const WindowLoops loops = LoopsOf(pipeline, stage);
  const bool keeps = stage.kind == StageKind::kConvolution && loops.passes > 1;
  sizes->window_bits = w.taps() * in.word_bits();
  sizes->deep_columns = HasDeepColumns(loops);
  if (w.pointwise()) {
    if (keeps && loops.words_per_group > 1) {
      sizes->stored_bits = in.word_bits();
      sizes->stored_words = loops.words_per_group;
    }
    return;
  }
  sizes->row_bits = stage.map.width * loops.words_per_pixel * in.word_bits();
  sizes->stored_bits = (w.columns() - 1 + (keeps ? 1 : 0)) * w.kernel_y * in.word_bits();
  sizes->stored_words = sizes->stored_bits > 0 ? loops.words_per_pixel : 0;
  // The columns of a single word are registers.
  if (loops.words_per_pixel == 1) sizes->deep_columns = false;
}

// Returns how many of the lowest `bits` bits are not the same in all numbers.
int64_t DifferentBits(const std::vector<int64_t>& numbers, int64_t bits) {
  uint64_t different = 0;
  for (const int64_t number : numbers) different |= static_cast<uint64_t>(number ^ numbers.front());
  return std::popcount(different & ((uint64_t{1} << bits) - 1));
}

// Adds the parts of stages to a unit.
class Collector {
 public:
  Collector(const Pipeline& pipeline, bool ultrascale, UnitParts* unit)
      : pipeline_(pipeline), ultrascale_(ultrascale), unit_(*unit) {}

  void Add(const Stage& stage) {
    switch (stage.kind) {
      case StageKind::kSource:
        Module("kiln_dataflow_source",
               ModuleParameters().Set("WIDTH", pipeline_.output(stage).word_bits()));
        break;
      case StageKind::kSink:
        Module("kiln_dataflow_sink",
               ModuleParameters().Set("WIDTH", pipeline_.input(stage).word_bits()));
        break;
      case StageKind::kFork:
        Module("kiln_dataflow_fork", ModuleParameters()
                                         .Set("WIDTH", pipeline_.input(stage).word_bits())
                                         .Set("OUTPUTS", std::ssize(stage.outputs)));
        break;
      case StageKind::kConcat:
        Module("kiln_dataflow_concat", ModuleParameters()
                                           .Set("WIDTH", pipeline_.output(stage).word_bits())
                                           .Set("INPUTS", std::ssize(stage.inputs)));
        break;
      case StageKind::kWiden:
        Converter("kiln_dataflow_widen", pipeline_.input(stage), pipeline_.output(stage));
        break;
      case StageKind::kNarrow:
        Converter("kiln_dataflow_narrow", pipeline_.output(stage), pipeline_.input(stage));
        break;
      case StageKind::kPad:
        Pad(stage);
        break;
      case StageKind::kCrop:
        Module("kiln_dataflow_crop", ModuleParameters()
                                         .Set("WIDTH", pipeline_.input(stage).word_bits())
                                         .Set("CG", pipeline_.input(stage).words_per_pixel()));
        break;
      case StageKind::kWeightStream:
        Module("kiln_dataflow_weight_stream",
               ModuleParameters()
                   .Set("WIDTH", pipeline_.output(stage).word_bits())
                   .Set("WORDS", pipeline_.output(stage).map.width)
                   .Set("DATA_BYTES", stage.port_bytes)
                   .Set("OUTSTANDING", OutstandingOf(pipeline_, stage)));
        break;
      case StageKind::kTable:
        Table(stage);
        break;
      case StageKind::kAffine:
        Affine(stage);
        break;
      case StageKind::kRearrange:
        Rearrange(stage);
        break;
      case StageKind::kConvolution:
      case StageKind::kDepthwise:
        AddWindow(stage);
        Products(stage);
        AddRequantise(stage);
        break;
      case StageKind::kMaxPool:
        AddWindow(stage);
        Maxima(stage);
        break;
      case StageKind::kGlobalSum:
        GlobalSum(stage);
        AddRequantise(stage);
        break;
    }
  }

  void Add(const Channel& channel) {
    Module("kiln_dataflow_channel", ModuleParameters()
                                        .Set("WIDTH", channel.word_bits())
                                        .Set("DEPTH", channel.depth)
                                        .Set("MEMORY", static_cast<int64_t>(channel.memory))
                                        .Set("RESERVE", ReserveOf(pipeline_, channel))
                                        .Set("MEASURE", 1));
    if (InMemory(channel)) Memory(channel.word_bits() * channel.depth);
  }

  void AddControl() {
    const auto words = [&](StageKind kind) {
      const std::vector<int> ends = pipeline_.Find(kind);
      if (ends.empty()) return int64_t{1};
      const Stage& end = pipeline_.stages[static_cast<size_t>(ends.front())];
      return kind == StageKind::kSource ? pipeline_.output(end).words()
                                        : pipeline_.input(end).words();
    };
    const auto streams = std::ssize(pipeline_.Find(StageKind::kWeightStream));
    Module("kiln_dataflow_control", ModuleParameters()
                                        .Set("IN_BEATS", words(StageKind::kSource))
                                        .Set("OUT_BEATS", words(StageKind::kSink))
                                        .Set("CHANNELS", std::ssize(pipeline_.channels))
                                        .Set("STREAMS", std::max<int64_t>(1, streams)));
  }

 private:
  void Module(const char* module, ModuleParameters parameters, int64_t count = 1) {
    unit_.modules.push_back({module, std::move(parameters), count});
  }
  void Memory(int64_t bits, int64_t count = 1) { unit_.memories.push_back({count, bits}); }
  // Adds memories of constants, which are built of gates wherever an FPGA has them.
  void Constants(int64_t width, int64_t depth, int64_t count = 1) {
    if (width == 0) return;
    Module("kiln_dataflow_rom", ModuleParameters().Set("WIDTH", width).Set("DEPTH", depth), count);
  }

  void Converter(const char* module, const Channel& narrow, const Channel& wide) {
    Module(module, ModuleParameters()
                       .Set("WIDTH", narrow.word_bits())
                       .Set("FACTOR", wide.lanes / narrow.lanes));
  }

  void Pad(const Stage& stage) {
    const Channel &in = pipeline_.input(stage), &out = pipeline_.output(stage);
    const int64_t front = stage.pad_front / in.lanes;
    Module("kiln_dataflow_pad",
           ModuleParameters()
               .Set("LANES", in.lanes)
               .Set("CODE_BITS", in.type.bits)
               .Set("H", in.map.height)
               .Set("W", in.map.width)
               .Set("CG", in.words_per_pixel())
               .Set("PT", stage.pad_top)
               .Set("PB", out.map.height - in.map.height - stage.pad_top)
               .Set("PL", stage.pad_left)
               .Set("PR", out.map.width - in.map.width - stage.pad_left)
               .Set("PAD_FRONT", front)
               .Set("PAD_BACK", out.words_per_pixel() - in.words_per_pixel() - front));
  }

  void Table(const Stage& stage) {
    const Channel& in = pipeline_.input(stage);
    Module("kiln_dataflow_table", ModuleParameters().Set("LANES", in.lanes));
    Constants(pipeline_.output(stage).type.bits, int64_t{1} << in.type.bits, in.lanes);
  }

  void Affine(const Stage& stage) {
    const Channel& in = pipeline_.input(stage);
    const auto inputs = std::ssize(stage.inputs);
    ModuleParameters p;
    p.Set("LANES", in.lanes).Set("INPUTS", inputs).Set("IN_BITS", in.type.bits);
    p.Set("OTHER_BITS", pipeline_.input(stage, stage.inputs.size() - 1).type.bits);
    p.Set("OUT_BITS", pipeline_.output(stage).type.bits).Set("M0", stage.factors[0]);
    p.Set("M1", inputs == 2 ? stage.factors[1] : 0).Set("SHIFT", stage.shift);
    p.Set("C", stage.addend);
    Module("kiln_dataflow_affine", std::move(p));
  }

  void Rearrange(const Stage& stage) {
    const Channel& in = pipeline_.input(stage);
    Module("kiln_dataflow_rearrange", ModuleParameters()
                                          .Set("WIDTH", in.word_bits())
                                          .Set("W", in.map.width)
                                          .Set("CG", in.words_per_pixel())
                                          .Set("FY", stage.factor_y)
                                          .Set("FX", stage.factor_x)
                                          .Set("SPACE", stage.depth_to_space ? 1 : 0));
    Memory(2 * in.map.width * in.words_per_pixel() * in.word_bits());
  }

  void AddWindow(const Stage& stage) {
    const Channel& in = pipeline_.input(stage);
    const Window& w = stage.window;
    const WindowLoops loops = LoopsOf(pipeline_, stage);
    const StageSizes sizes = SizesOf(pipeline_, stage);
    ModuleParameters p;
    p.Set("LANES", in.lanes).Set("CODE_BITS", in.type.bits).Set("WORD_WIDTH", in.word_bits());
    p.Set("H", stage.map.height).Set("W", stage.map.width).Set("CG", loops.words_per_pixel);
    p.Set("OH", w.out_height).Set("OW", w.out_width).Set("KY", w.kernel_y).Set("KX", w.kernel_x);
    p.Set("SY", w.stride_y).Set("SX", w.stride_x).Set("PT", w.pad_top).Set("PL", w.pad_left);
    p.Set("DY", w.dilation_y).Set("DX", w.dilation_x).Set("EXTRA_ROWS", w.extra_rows);
    p.Set("G", loops.groups).Set("OG", loops.passes).Set("IG", loops.words_per_group);
    p.Set("MEMORY", sizes.deep_columns ? 1 : 0);
    if (sizes.deep_columns && sizes.stored_bits > 0) Memory(sizes.stored_bits * sizes.stored_words);
    if (w.pointwise()) {
      Module("kiln_dataflow_pointwise", std::move(p));
      return;
    }
    const int64_t reach = w.columns() - 1;
    p.Set("KEEP", loops.passes > 1 ? 1 : 0);
    p.Set("MASK", w.pad_left > 0 ||
                          (w.out_width - 1) * w.stride_x + reach > stage.map.width - 1 + w.pad_left
                      ? 1
                      : 0);
    Memory(sizes.row_bits, w.buffer_rows());
    Module("kiln_dataflow_rows", p);
    Module("kiln_dataflow_reader", p);
    Module("kiln_dataflow_columns", std::move(p));
  }

  void Products(const Stage& stage) {
    const Channel &in = pipeline_.input(stage), &out = pipeline_.output(stage);
    const Window& w = stage.window;
    const WindowLoops loops = LoopsOf(pipeline_, stage);
    const StageSizes sizes = SizesOf(pipeline_, stage);
    const int64_t pack = stage.kind == StageKind::kConvolution ? stage.pack : 1;
    ModuleParameters p;
    p.Set("IN_BITS", in.type.bits).Set("IN_SIGNED", in.type.is_signed ? 1 : 0);
    p.Set("WEIGHT_BITS", stage.weight_bits).Set("PACK", pack);
    p.Set("LUT_PRODUCTS", UsesLutProducts(in.type, stage.weight_bits, pack) ? 1 : 0);
    Module("kiln_dataflow_multiplier", p, CeilDivide(sizes.outputs, pack) * sizes.terms);
    Module(
        "kiln_sum_tree",
        ModuleParameters().Set("TERMS", sizes.terms).Set("BITS", in.type.bits + stage.weight_bits),
        sizes.outputs);
    p.Set("KY", w.kernel_y).Set("KX", w.kernel_x).Set("LANES", in.lanes);
    if (stage.kind == StageKind::kConvolution) {
      p.Set("G", loops.groups).Set("OG", loops.passes).Set("IG", loops.words_per_group);
      p.Set("OUTPUTS", stage.elements).Set("RESULT_LANES", out.lanes);
      p.Set("ACC_BITS", sizes.sum_bits).Set("STREAMED", sizes.streams_weights ? 1 : 0);
      Module("kiln_dataflow_convolution", std::move(p));
    } else {
      Module("kiln_dataflow_depthwise", std::move(p.Set("CG", loops.words_per_pixel)));
    }
    if (!sizes.streams_weights) Constants(sizes.weight_bits, sizes.weight_words);
  }

  void Maxima(const Stage& stage) {
    const Channel& in = pipeline_.input(stage);
    Module("kiln_dataflow_max_tree",
           ModuleParameters().Set("TERMS", stage.window.taps()).Set("BITS", in.type.bits),
           in.lanes);
    Module("kiln_dataflow_max_pool",
           ModuleParameters().Set("KY", stage.window.kernel_y).Set("KX", stage.window.kernel_x));
  }

  void GlobalSum(const Stage& stage) {
    const Channel& in = pipeline_.input(stage);
    Module("kiln_dataflow_global_sum", ModuleParameters()
                                           .Set("PIXELS", in.map.pixels())
                                           .Set("LANES", in.lanes)
                                           .Set("CG", in.words_per_pixel())
                                           .Set("IN_BITS", in.type.bits));
    if (in.words_per_pixel() > 1)
      Memory(in.lanes * SizesOf(pipeline_, stage).sum_bits * in.words_per_pixel());
  }

  void AddRequantise(const Stage& stage) {
    const Channel& out = pipeline_.output(stage);
    const Requantise& r = stage.requantise;
    const StageSizes sizes = SizesOf(pipeline_, stage);
    ModuleParameters p;
    p.Set("LANES", out.lanes).Set("SUM_BITS", sizes.sum_bits).Set("OUT_BITS", out.type.bits);
    p.Set("WAY", static_cast<int64_t>(r.way)).Set("WORDS", sizes.constant_words);
    p.Set("LEVELS", std::max(1, r.threshold_bits));
    Module("kiln_dataflow_requantise", p);
    if (r.way == Requantise::Way::kMultiply) {
      p.Set("C_BITS", sizes.addend_bits).Set("SHIFT", r.shift);
      p.Set("MULTIPLIER_BITS", MultiplierBitsOf(ultrascale_));
      Module("kiln_dataflow_scale", std::move(p), out.lanes);
      // Bits that are the same in all channels need no gates.
      Constants(out.lanes * (DifferentBits(r.multipliers, kMultiplierBits) +
                             DifferentBits(r.addends, sizes.addend_bits)),
                sizes.constant_words);
    } else if (r.way == Requantise::Way::kThresholds) {
      Module("kiln_dataflow_thresholds", std::move(p.Set("THRESHOLD_BITS", stage.sum_bits)),
             out.lanes);
      for (int level = 0; level < r.threshold_bits; ++level)
        Constants(stage.sum_bits, sizes.constant_words << level, out.lanes);
    }
  }

  const Pipeline& pipeline_;
  const bool ultrascale_;
  UnitParts& unit_;
};

UnitParts& UnitNamed(const std::string& name, std::vector<UnitParts>* units) {
  const auto at = std::ranges::find(*units, name, &UnitParts::unit);
  return at != units->end() ? *at : units->emplace_back(UnitParts{name, {}, {}});
}

}  // namespace

StageSizes SizesOf(const Pipeline& pipeline, const Stage& stage) {
  StageSizes sizes;
  if (HasWeights(stage.kind)) AddWeightSizes(pipeline, stage, &sizes);
  if (HasWindow(stage.kind)) AddWindowSizes(pipeline, stage, &sizes);
  if (!HasSums(stage.kind)) return sizes;
  const Channel& out = pipeline.output(stage);
  if (stage.kind == StageKind::kGlobalSum) {
    const Channel& in = pipeline.input(stage);
    sizes.sum_bits = in.type.bits + 1 + CeilLog2(in.map.pixels());
  }
  if (stage.requantise.way == Requantise::Way::kNone) return sizes;
  sizes.addend_bits = AddendBits(stage.requantise);
  sizes.constant_words = out.words_per_pixel();
  return sizes;
}

bool InMemory(const Channel& channel) {
  return channel.memory != MemoryKind::kLut && channel.depth > 1;
}

std::string UnitNameOf(const Stage& stage) {
  if (stage.kind == StageKind::kSource || stage.kind == StageKind::kSink) return kStreamUnit;
  return OnlyConnects(stage.kind) ? kConnectionUnit : stage.name;
}

std::vector<UnitParts> UnitsOf(std::span<const Pipeline* const> pipelines, bool ultrascale) {
  std::vector<UnitParts> units;
  for (const bool of_layers : {true, false}) {
    for (const Pipeline* pipeline : pipelines) {
      for (const Stage& stage : pipeline->stages) {
        const std::string name = UnitNameOf(stage);
        if ((name == stage.name) != of_layers) continue;
        Collector(*pipeline, ultrascale, &UnitNamed(name, &units)).Add(stage);
      }
    }
  }
  for (const Pipeline* pipeline : pipelines) {
    Collector channels(*pipeline, ultrascale, &UnitNamed(kChannelUnit, &units));
    for (const Channel& channel : pipeline->channels) channels.Add(channel);
  }
  for (const Pipeline* pipeline : pipelines)
    Collector(*pipeline, ultrascale, &UnitNamed(kControlUnit, &units)).AddControl();
  return units;
}

}  // namespace kiln::dataflow
