// Counts the events of each kind of stage, and gives them the energies of hardware/energy.h.

#include "kiln/targets/dataflow/cost/events.h"

#include <algorithm>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "kiln/hardware/energy.h"
#include "kiln/hardware/technology.h"
#include "kiln/numerics/format.h"
#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/cost/module_counts.h"
#include "kiln/targets/dataflow/cost/parts.h"
#include "kiln/targets/dataflow/isa/derived.h"
#include "kiln/targets/interface/unit_areas.h"

namespace kiln::dataflow {
namespace {

constexpr int64_t kByteBits = 8;
constexpr int64_t kAffineFactorBits = 18, kAffineSumBits = 50;

Format Integer(int64_t bits) {
  Format format = *FindFormat("int32");
  format.bits = static_cast<int>(bits);
  return format;
}

// Adds the energies of stages and channels. Parts of the same unit and event are one.
class EnergySum {
 public:
  EnergySum(bool ultrascale, Energy* energy)
      : energy_(*energy),
        multiplier_bits_(MultiplierBitsOf(ultrascale)),
        scale_(hardware::EnergyScale(hardware::kEnergyNode, energy->node_nm)) {}

  void Add(const Pipeline& pipeline, const Stage& stage) {
    unit_ = UnitNameOf(stage);
    const StageEvents events = EventsOf(pipeline, stage);
    const StageSizes sizes = SizesOf(pipeline, stage);
    switch (stage.kind) {
      case StageKind::kSource:
        OuterMemory(events.results, pipeline.output(stage).word_bits());
        break;
      case StageKind::kSink:
        OuterMemory(events.words, pipeline.input(stage).word_bits());
        break;
      case StageKind::kWeightStream:
        OuterMemory(BeatsOfImage(stage, pipeline.output(stage)), 8 * stage.port_bytes);
        break;
      case StageKind::kConvolution:
      case StageKind::kDepthwise:
        AddWindow(pipeline, stage, events, sizes);
        Products(pipeline, stage, events, sizes);
        AddRequantise(pipeline, stage, events, sizes);
        break;
      case StageKind::kMaxPool:
        AddWindow(pipeline, stage, events, sizes);
        Maxima(pipeline, stage, events);
        break;
      case StageKind::kGlobalSum:
        GlobalSum(pipeline, stage, events, sizes);
        AddRequantise(pipeline, stage, events, sizes);
        break;
      case StageKind::kAffine:
        Affine(pipeline, stage, events);
        break;
      case StageKind::kTable: {
        const Channel& in = pipeline.input(stage);
        const int64_t bits = pipeline.output(stage).type.bits;
        Memory("table", events.words * in.lanes * bits, bits << in.type.bits);
        break;
      }
      case StageKind::kRearrange: {
        const Channel& in = pipeline.input(stage);
        Memory("rows", (events.words + events.results) * in.word_bits(),
               2 * in.map.width * in.words_per_pixel() * in.word_bits());
        break;
      }
      case StageKind::kWiden:
        // The words that wait are shifted.
        Registers(events.words *
                  (pipeline.output(stage).word_bits() - pipeline.input(stage).word_bits()));
        break;
      default:
        break;
    }
  }

  void Add(const Channel& channel) {
    unit_ = kChannelUnit;
    const int64_t bits = channel.words() * channel.word_bits();
    if (InMemory(channel)) {
      Memory("words", 2 * bits, channel.depth * channel.word_bits());
    } else {
      Registers(bits);
    }
  }

 private:
  // ---- Events

  void Event(std::string event, int64_t count, double picojoules, bool of_machine = true) {
    const std::string unit = of_machine ? unit_ : kOuterMemoryUnit;
    const auto same = std::ranges::find_if(energy_.parts, [&](const EnergyPart& part) {
      return part.unit == unit && part.event == event;
    });
    if (same != energy_.parts.end()) {
      same->count += count;
    } else {
      energy_.Add(unit, std::move(event), count, (of_machine ? scale_ : 1) * picojoules);
    }
  }
  void Registers(int64_t bits) { Event("register bits", bits, hardware::RegisterEnergyPerBit()); }
  // Bits that are read or written of a memory of `size` bits.
  void Memory(const char* what, int64_t bits, int64_t size) {
    Event(fmt::format("bits of {}, memory of {}", what, size), bits,
          hardware::MemoryEnergyPerBit(size));
  }
  void Addition(const char* what, int64_t count, int64_t bits) {
    Event(fmt::format("{} of {} bits", what, bits), count, hardware::AddEnergy(Integer(bits)));
  }
  void Multiplication(int64_t count, int64_t bits, int64_t other_bits) {
    Event(fmt::format("multiplications of {} x {} bits", bits, other_bits), count,
          hardware::MultiplyEnergy(Integer(bits), Integer(other_bits)));
  }
  // Words of a stream; each takes whole bytes.
  void OuterMemory(int64_t words, int64_t word_bits) {
    Event("bytes", words * CeilDivide(word_bits, kByteBits), hardware::kOuterMemoryEnergyPerByte,
          false);
  }

  // ---- Parts of stages

  void AddWindow(const Pipeline& pipeline, const Stage& stage, const StageEvents& events,
                 const StageSizes& sizes) {
    const int64_t word = pipeline.input(stage).word_bits();
    if (stage.window.pointwise()) {
      // A word passes two registers; steps of later passes read it again.
      Registers((events.words + events.computing) * word);
      if (sizes.stored_bits == 0) return;
      const int64_t kept = stage.window.out_height * stage.window.out_width *
                           LoopsOf(pipeline, stage).words_per_pixel;
      if (sizes.deep_columns) {
        Memory("kept words", (kept + events.steps) * word, sizes.stored_words * word);
      } else {
        Registers(kept * word);
      }
      return;
    }
    // Every insertion reads all rows.
    Memory("rows", (events.words + events.insertions * stage.window.buffer_rows()) * word,
           sizes.row_bits);
    Registers(events.steps * sizes.window_bits);
    if (sizes.deep_columns) {
      Memory("columns", (events.steps + events.insertions) * sizes.stored_bits,
             sizes.stored_bits * sizes.stored_words);
    } else {
      Registers(events.insertions * sizes.stored_bits);
    }
  }

  void Products(const Pipeline& pipeline, const Stage& stage, const StageEvents& events,
                const StageSizes& sizes) {
    const Channel &in = pipeline.input(stage), &out = pipeline.output(stage);
    const bool convolution = stage.kind == StageKind::kConvolution;
    const int64_t pack = convolution ? stage.pack : 1;
    const int64_t product_bits = in.type.bits + stage.weight_bits;
    const MultiplierCounts multiplier =
        MultiplierCountsOf(in.type.bits, in.type.is_signed, stage.weight_bits, pack);
    const TreeCounts tree = SumTreeCountsOf(sizes.terms, product_bits);
    if (stage.weight_bits == 1) {
      Addition("negations", events.computing * sizes.products, product_bits);
    } else {
      Multiplication(events.computing * sizes.products, in.type.bits, stage.weight_bits);
    }
    Addition("additions of products", events.computing * sizes.outputs * (sizes.terms - 1),
             sizes.tree_bits);
    int64_t registers = CeilDivide(sizes.outputs, pack) * sizes.terms * multiplier.register_bits +
                        sizes.outputs * tree.register_bits;
    if (convolution) {
      if (LoopsOf(pipeline, stage).words_per_group > 1)
        Addition("accumulations", events.computing * sizes.outputs, sizes.sum_bits);
      registers += sizes.outputs * sizes.sum_bits;
      // The words of a result that wait are loaded, and shifted until the last has left.
      const int64_t words = stage.elements / out.lanes;
      Registers(events.results * (sizes.outputs - out.lanes) * sizes.sum_bits *
                (words > 1 ? 1 : 0));
    }
    Registers(events.computing * registers);
    if (sizes.streams_weights) {
      Registers(events.computing * sizes.weight_bits);  // the stream counts its beats
    } else {
      Memory("weights", events.computing * sizes.weight_bits,
             sizes.weight_words * sizes.weight_bits);
    }
  }

  void Maxima(const Pipeline& pipeline, const Stage& stage, const StageEvents& events) {
    const Channel& in = pipeline.input(stage);
    const TreeCounts tree = MaxTreeCountsOf(stage.window.taps(), in.type.bits);
    Addition("comparisons", events.computing * in.lanes * (stage.window.taps() - 1), in.type.bits);
    Registers(events.computing * in.lanes * tree.register_bits);
  }

  void GlobalSum(const Pipeline& pipeline, const Stage& stage, const StageEvents& events,
                 const StageSizes& sizes) {
    const Channel& in = pipeline.input(stage);
    Addition("accumulations", events.words * in.lanes, sizes.sum_bits);
    // The word, and the sum that is requantised.
    Registers(events.words * in.lanes * (in.type.bits + sizes.sum_bits));
    if (in.words_per_pixel() > 1) {
      const int64_t word = in.lanes * sizes.sum_bits;
      Memory("sums", 2 * events.words * word, in.words_per_pixel() * word);
    }
  }

  void Affine(const Pipeline& pipeline, const Stage& stage, const StageEvents& events) {
    const Channel& out = pipeline.output(stage);
    const int64_t codes = events.words * out.lanes;
    int64_t registers = 2 * kAffineSumBits + out.type.bits;
    for (size_t i = 0; i < stage.inputs.size(); ++i) {
      const int64_t bits = pipeline.input(stage, i).type.bits;
      Multiplication(codes, bits, kAffineFactorBits);
      registers += bits + bits + kAffineFactorBits;
    }
    // The products are added, and the constant.
    Addition("additions", codes * std::ssize(stage.inputs), kAffineSumBits);
    Registers(codes * registers);
  }

  void AddRequantise(const Pipeline& pipeline, const Stage& stage, const StageEvents& events,
                     const StageSizes& sizes) {
    const Channel& out = pipeline.output(stage);
    const Requantise& r = stage.requantise;
    const int64_t codes = events.results * out.lanes;
    if (r.way == Requantise::Way::kNone) {
      Registers(codes * std::min<int64_t>(out.type.bits, sizes.sum_bits));
    } else if (r.way == Requantise::Way::kMultiply) {
      const ScaleCounts scale =
          ScaleCountsOf(sizes.sum_bits, sizes.addend_bits, out.type.bits, multiplier_bits_);
      Multiplication(codes, sizes.sum_bits, kMultiplierBits);
      Addition("additions", codes, scale.scaled_bits);
      Registers(codes * scale.register_bits);
      const int64_t bits = sizes.addend_bits + kMultiplierBits;
      Memory("constants", codes * bits, sizes.constant_words * out.lanes * bits);
    } else {
      const ThresholdCounts counts =
          ThresholdCountsOf(sizes.sum_bits, stage.sum_bits, r.threshold_bits, sizes.constant_words);
      Addition("comparisons", codes * r.threshold_bits,
               std::max<int64_t>(sizes.sum_bits, stage.sum_bits));
      Registers(codes * (sizes.sum_bits + counts.register_bits));
      for (int level = 0; level < r.threshold_bits; ++level)
        Memory("thresholds", codes * stage.sum_bits,
               (sizes.constant_words << level) * stage.sum_bits);
    }
  }

  Energy& energy_;
  const int64_t multiplier_bits_;
  const double scale_;
  std::string unit_;
};

}  // namespace

StageEvents EventsOf(const Pipeline& pipeline, const Stage& stage) {
  StageEvents events;
  if (!stage.inputs.empty()) events.words = pipeline.input(stage).words();
  if (!stage.outputs.empty()) events.results = pipeline.output(stage).words();
  switch (stage.kind) {
    case StageKind::kConvolution:
    case StageKind::kDepthwise:
    case StageKind::kMaxPool: {
      const Window& w = stage.window;
      const WindowLoops loops = LoopsOf(pipeline, stage);
      const int64_t pixels = w.out_height * w.out_width;
      events.computing = pixels * loops.passes * loops.words_per_pixel;
      if (w.pointwise()) {
        events.steps = events.computing + (stage.map.pixels() - pixels) * loops.words_per_pixel;
      } else {
        events.insertions = loops.insertions * loops.words_per_pixel;
        // One insertion of a pixel happens in its first pass.
        events.steps = events.computing + events.insertions - pixels * loops.words_per_pixel;
      }
      break;
    }
    case StageKind::kConcat:
    case StageKind::kNarrow:
    case StageKind::kPad:
    case StageKind::kRearrange:
      events.steps = events.results;
      break;
    default:
      events.steps = stage.inputs.empty() ? events.results : events.words;
      break;
  }
  return events;
}

namespace {

// Returns the layer at the other end of a channel, across stages that belong to no layer: of
// several, the first.
int LayerBehind(const Pipeline& pipeline, const Channel& channel) {
  const Stage* stage = &pipeline.stages[static_cast<size_t>(channel.to)];
  while (stage->layer < 0 && !stage->outputs.empty())
    stage = &pipeline.stages[static_cast<size_t>(pipeline.output(*stage).to)];
  return stage->layer;
}
int LayerBefore(const Pipeline& pipeline, const Channel& channel) {
  const Stage* stage = &pipeline.stages[static_cast<size_t>(channel.from)];
  while (stage->layer < 0 && !stage->inputs.empty())
    stage = &pipeline.stages[static_cast<size_t>(pipeline.input(*stage).from)];
  return stage->layer;
}

}  // namespace

std::vector<StageTraffic> TrafficOf(const Pipeline& pipeline) {
  std::vector<StageTraffic> all;
  const auto add = [&](const Stage& stage, int layer, int64_t words, int64_t word_bytes) {
    all.push_back({.port = {.name = stage.name,
                            .bytes_per_cycle = static_cast<double>(word_bytes),
                            .writes = stage.kind == StageKind::kSink,
                            .stream = stage.kind != StageKind::kWeightStream},
                   .layer = layer,
                   .bytes = words * word_bytes});
  };
  const auto bytes_of = [](const Channel& channel) {
    return CeilDivide(channel.word_bits(), kByteBits);
  };
  for (const Stage& stage : pipeline.stages) {
    if (stage.kind == StageKind::kSource) {
      const Channel& out = pipeline.output(stage);
      add(stage, LayerBehind(pipeline, out), out.words(), bytes_of(out));
    } else if (stage.kind == StageKind::kSink) {
      const Channel& in = pipeline.input(stage);
      add(stage, LayerBefore(pipeline, in), in.words(), bytes_of(in));
    } else if (stage.kind == StageKind::kWeightStream) {
      const Channel& out = pipeline.output(stage);
      add(stage, LayerBehind(pipeline, out), BeatsOfImage(stage, out), stage.port_bytes);
    }
  }
  return all;
}

StatusOr<Energy> EnergyOf(std::span<const Pipeline* const> pipelines, bool ultrascale,
                          int node_nm) {
  KILN_ASSIGN_OR_RETURN(Energy energy, EnergyAt(node_nm));
  EnergySum sum(ultrascale, &energy);
  for (const Pipeline* pipeline : pipelines) {
    for (const Stage& stage : pipeline->stages) sum.Add(*pipeline, stage);
  }
  for (const Pipeline* pipeline : pipelines) {
    for (const Channel& channel : pipeline->channels) sum.Add(channel);
  }
  return energy;
}

}  // namespace kiln::dataflow
