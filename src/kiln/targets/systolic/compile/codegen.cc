// Generates a program from lowered kernels: schedules, memory plan, addresses and wait distances.
#include "kiln/targets/systolic/compile/codegen.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>

#include "fmt/format.h"
#include "kiln/hardware/axi_port.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"
#include "kiln/support/parallel.h"
#include "kiln/targets/interface/kernel_info.h"
#include "kiln/targets/systolic/compile/schedule.h"
#include "kiln/targets/systolic/compile/sums.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/isa/walk.h"

namespace kiln::systolic {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kBase = 64;  // address 0 is unused, so that a missing address is noticed

Binding BindingOf(const View& view, std::string name, const std::vector<uint64_t>& addresses) {
  Binding b;
  b.name = std::move(name);
  b.shape = Shape(view.shape);
  b.base = addresses[static_cast<size_t>(view.buffer)] + static_cast<uint64_t>(view.offset);
  b.strides = view.strides;
  b.encoding = view.encoding;
  if (!view.blocked()) return b;
  b.scale_axis = view.blocks.axis;
  b.scale_base = addresses[static_cast<size_t>(view.blocks.buffer)] +
                 static_cast<uint64_t>(view.blocks.offset);
  b.scale_strides = view.blocks.strides;
  return b;
}

// Adds a tiling to a kernel's description: a kernel of several works may have several tilings.
void AddTiling(const std::string& tiling, std::string* schedule) {
  constexpr std::string_view kOthers = " and others";
  if (schedule->empty()) *schedule = tiling;
  if (*schedule != tiling && !schedule->ends_with(kOthers)) *schedule += kOthers;
}

// Returns the end of a kernel's description: the claim that its tilings have the least of what the
// objective minimises.
std::string LeastOfTilings(const Ranking& ranking) {
  const Objective objective = ranking.objective();
  const std::string_view what = objective == Objective::kCycles    ? "estimated time"
                                : objective == Objective::kEnergy  ? "energy"
                                : objective == Objective::kTraffic ? "traffic"
                                : ranking.has_memory()             ? "energy times estimated time"
                                                                   : "energy times cycles";
  return fmt::format(", least {}{} among its tilings", what,
                     ranking.has_memory() ? " behind the memory" : "");
}

// Generates the program of one graph; Run does the steps in order.
class Generator {
 public:
  Generator(Lowered lowered, const Graph& graph, const Config& config,
            const CompileOptions& options)
      : lowered_(std::move(lowered)),
        graph_(graph),
        config_(config),
        ranking_(config, options),
        scheduler_(config, ranking_),
        sums_(config) {}

  StatusOr<std::unique_ptr<SystolicProgram>> Run() {
    KILN_RETURN_IF_ERROR(ScheduleWorks());
    FindLifetimes();
    KILN_RETURN_IF_ERROR(PlaceBuffers());
    KILN_RETURN_IF_ERROR(EmitSteps());
    for (size_t i = 0; i < lowered_.inputs.size(); ++i) {
      parts_.inputs.push_back(BindingOf(lowered_.inputs[i], lowered_.input_names[i], addresses_));
    }
    for (size_t i = 0; i < lowered_.outputs.size(); ++i) {
      parts_.outputs.push_back(
          BindingOf(lowered_.outputs[i], lowered_.output_names[i], addresses_));
    }
    parts_.config = config_;
    if (std::string note = sums_.Note(); !note.empty()) parts_.notes.push_back(std::move(note));
    NoteUnpacked();
    return std::make_unique<SystolicProgram>(std::move(parts_));
  }

 private:
  // The buffers of weights in the order in which the machine fetches them.
  struct TiledWeights {
    int codes = -1, scales = -1;
  };
  int AddConstant(std::string name, LargeBytes data) {
    const int64_t bytes = std::ssize(data);
    lowered_.buffers.push_back({std::move(name), bytes, true, std::move(data)});
    return static_cast<int>(lowered_.buffers.size()) - 1;
  }
  int64_t BytesOf(int buffer) const { return lowered_.buffers[static_cast<size_t>(buffer)].bytes; }

  // Notes the bytes of weights that a machine with packed weights would save.
  void NoteUnpacked() {
    if (unpacked_.empty()) return;
    int64_t bytes = 0, packed = 0;
    for (const auto& [codes, bits] : unpacked_) {
      const int64_t size = std::ssize(codes->codes);
      bytes += size;
      packed += CeilDivide(size / codes->bytes * bits, int64_t{8});
    }
    parts_.notes.push_back(fmt::format(
        "{} weight{} of fewer than 8 bits take{} whole bytes, {} in all; a design point with "
        "'packed_weights: true' stores them in {}",
        unpacked_.size(), unpacked_.size() == 1 ? "" : "s", unpacked_.size() == 1 ? "s" : "", bytes,
        packed));
  }

  Status ScheduleWorks() {
    // Weights that several works share with the same packing are stored once.
    std::map<std::tuple<const WeightCodes*, Packing, Opcode>, TiledWeights> tiled;
    for (Kernel& kernel : lowered_.kernels) {
      bool best = true;  // all tilings of the kernel are the best of their spaces
      for (Work& work : kernel.works) {
        Instruction& in = work.instruction;
        if (in.opcode == Opcode::kVector) {
          Accumulate(CertifyVector(in, config_, work.orders_timed), &kernel.info.certificate);
          continue;
        }
        if (work.codes != nullptr) {
          const uint8_t bits = BitsOfPackedWeights(*work.codes, config_, in.precision);
          if (config_.packed_weights) {
            in.convolution.weight_bits = bits;
          } else if (bits > 0) {
            unpacked_[work.codes.get()] = bits;
          }
        }
        auto schedule = scheduler_.Find(in);
        if (!schedule.ok()) {
          return UnsupportedAt(graph_.source(), fmt::format("node '{}'", kernel.info.name),
                               MessageOf(schedule.status()),
                               "use a design point with larger buffers");
        }
        in.tiling = schedule->tiling;
        AddTiling(Describe(in.tiling), &kernel.info.schedule);
        best = best && schedule->best_of_space;
        Accumulate(schedule->certificate, &kernel.info.certificate);
        if (work.codes == nullptr) {
          sums_.Add(kernel.info.source_nodes[0], work);
          continue;
        }
        const auto key = std::make_tuple(work.codes.get(), in.tiling.packing, in.opcode);
        const auto [it, fresh] = tiled.try_emplace(key);
        TiledWeights& weights = it->second;
        const std::string& name = kernel.info.source_nodes[0];
        if (fresh) {
          sums_.Add(name, work);
          weights.codes = AddConstant(name + " weights", TileWeights(*work.codes, in, config_));
          if (work.codes->blocked()) {
            weights.scales =
                AddConstant(name + " weight scales", TileScales(*work.codes, in, config_));
          }
        }
        work.weights = {weights.codes, 0};
        if (work.codes->blocked()) work.weight_scales = {weights.scales, 0};
        if (work.codes->batches > 1) {
          in.convolution.weight_batch_stride = BytesOf(weights.codes) / work.codes->batches;
          if (work.codes->blocked()) {
            in.convolution.weight_scales.batch_stride =
                BytesOf(weights.scales) / work.codes->batches;
          }
        }
      }
      Certificate& certificate = kernel.info.certificate;
      if (kernel.least_cycles.has_value() && *kernel.least_cycles < certificate.lower_bound) {
        certificate.lower_bound = *kernel.least_cycles;
        certificate.optimal = false;
      }
      // Tilings and loop orders are timed as if every port had its own bus.
      if (config_.shared_bus) certificate.optimal = false;
      if (config_.shared_bus &&
          (ranking_.objective() == Objective::kEdp || ranking_.has_memory())) {
        best = false;
      }
      if (best && !kernel.info.schedule.empty() && !ranking_.by_cycles())
        kernel.info.schedule += LeastOfTilings(ranking_);
    }
    if (config_.shared_bus) {
      parts_.notes.emplace_back(
          "schedules and gaps are of ports of their own; what kernels wait for the shared bus is "
          "in their cycles "
          "alone");
    }
    return OkStatus();
  }

  // Positions count instructions and host steps together, from 1. Inputs are written at position 0,
  // and outputs are read after the last position.
  void FindLifetimes() {
    first_.assign(lowered_.buffers.size(), -1);
    last_.assign(lowered_.buffers.size(), -1);
    const auto touch = [&](int buffer, int position) {
      if (buffer < 0) return;
      const size_t b = static_cast<size_t>(buffer);
      if (first_[b] < 0) first_[b] = position;
      last_[b] = std::max(last_[b], position);
    };
    const auto touch_view = [&](const View& view, int position) {
      touch(view.buffer, position);
      touch(view.blocks.buffer, position);
    };
    for (const View& input : lowered_.inputs) touch_view(input, 0);
    int position = 0;
    for (const Kernel& kernel : lowered_.kernels) {
      if (kernel.host_work != nullptr) {
        ++position;
        for (const View& view : kernel.host_work->inputs) touch_view(view, position);
        for (const View& view : kernel.host_work->outputs) touch_view(view, position);
      }
      for (const Work& work : kernel.works) {
        ++position;
        for (const Place& place : {work.input, work.weights, work.parameters, work.output,
                                   work.input_scales, work.weight_scales, work.output_scales}) {
          touch(place.buffer, position);
        }
        for (const Place& place : work.operands) touch(place.buffer, position);
        for (const Place& place : work.operand_scales) touch(place.buffer, position);
      }
    }
    for (const View& output : lowered_.outputs) touch_view(output, position + 1);
  }

  Status PlaceBuffers() {
    addresses_.assign(lowered_.buffers.size(), 0);
    uint64_t at = kBase;
    for (size_t b = 0; b < lowered_.buffers.size(); ++b) {
      const Buffer& buffer = lowered_.buffers[b];
      if (!buffer.constant || first_[b] < 0) continue;
      addresses_[b] = at;
      parts_.regions.push_back({buffer.name, at, buffer.bytes, true, 0, last_[b]});
      at = AlignUp(at + static_cast<uint64_t>(buffer.bytes), kAlignment);
    }
    parts_.constants_base = kBase;
    KILN_RETURN_IF_ERROR(CheckMemory(at, "constants"));
    parts_.constants.assign(at - kBase, 0);
    for (size_t b = 0; b < lowered_.buffers.size(); ++b) {
      Buffer& buffer = lowered_.buffers[b];
      if (!buffer.constant || first_[b] < 0) continue;
      std::copy(buffer.data.begin(), buffer.data.end(),
                parts_.constants.begin() + static_cast<std::ptrdiff_t>(addresses_[b] - kBase));
      buffer.data = LargeBytes();  // no longer needed
    }

    std::vector<Lifetime> lifetimes;
    std::vector<size_t> which;
    for (size_t b = 0; b < lowered_.buffers.size(); ++b) {
      if (lowered_.buffers[b].constant || first_[b] < 0) continue;
      lifetimes.push_back({lowered_.buffers[b].bytes, first_[b], last_[b]});
      which.push_back(b);
    }
    const std::vector<uint64_t> places = PlanMemory(lifetimes, at, kAlignment);
    uint64_t top = at;
    for (size_t i = 0; i < which.size(); ++i) {
      const Buffer& buffer = lowered_.buffers[which[i]];
      addresses_[which[i]] = places[i];
      top = std::max(top, places[i] + static_cast<uint64_t>(buffer.bytes));
      parts_.regions.push_back(
          {buffer.name, places[i], buffer.bytes, false, lifetimes[i].first, lifetimes[i].last});
    }
    parts_.memory_top = AlignUp(top, kAlignment);
    return CheckMemory(parts_.memory_top, "constants and activations");
  }

  Status CheckMemory(uint64_t top, std::string_view what) const {
    if (top <= static_cast<uint64_t>(config_.memory_bytes)) return OkStatus();
    return ErrorAt(graph_.source(), "",
                   fmt::format("{} take {} bytes, the memory of '{}' has {}", what, top,
                               config_.name, config_.memory_bytes),
                   "raise memory_bytes in the design point");
  }

  Status EmitSteps() {
    // For each buffer, the instruction that wrote it last since the last host step. An instruction
    // that reads the buffer must wait for that instruction.
    constexpr int kNobody = -1;
    std::vector<int> writer(lowered_.buffers.size(), kNobody);
    for (Kernel& kernel : lowered_.kernels) {
      const int index = static_cast<int>(parts_.kernels.size());
      if (kernel.host_work != nullptr) {
        HostStep step;
        step.kernel = index;
        step.graph = kernel.host_work->graph;
        for (size_t i = 0; i < kernel.host_work->inputs.size(); ++i) {
          step.inputs.push_back(
              BindingOf(kernel.host_work->inputs[i], step.graph->inputs()[i]->name(), addresses_));
        }
        for (size_t i = 0; i < kernel.host_work->outputs.size(); ++i) {
          step.outputs.push_back(BindingOf(kernel.host_work->outputs[i],
                                           step.graph->outputs()[i]->name(), addresses_));
        }
        parts_.steps.push_back({Step::Kind::kHost, static_cast<int>(parts_.host_steps.size()), 0});
        parts_.host_steps.push_back(std::move(step));
        std::fill(writer.begin(), writer.end(), kNobody);
      }
      for (Work& work : kernel.works) {
        Instruction& in = work.instruction;
        in.kernel = static_cast<uint32_t>(index);
        const auto address = [&](const Place& place) {
          return addresses_[static_cast<size_t>(place.buffer)] +
                 static_cast<uint64_t>(place.offset);
        };
        const int number = static_cast<int>(parts_.instructions.size());
        int awaited = kNobody;
        const auto reads = [&](const Place& place) {
          awaited = std::max(awaited, writer[static_cast<size_t>(place.buffer)]);
        };
        if (in.opcode != Opcode::kVector) {
          in.convolution.input_base = address(work.input);
          in.convolution.weight_base = address(work.weights);
          in.convolution.parameters.base = address(work.parameters);
          if (in.convolution.input_scales.present)
            in.convolution.input_scales.base = address(work.input_scales);
          if (in.convolution.weight_scales.present)
            in.convolution.weight_scales.base = address(work.weight_scales);
          reads(work.input);
          reads(work.weights);
        }
        for (size_t i = 0; i < work.operands.size(); ++i) {
          in.vector.operands[i].base = address(work.operands[i]);
          BlockScales& scales = in.vector.operands[i].blocks;
          if (scales.present) scales.base = address(work.operand_scales[i]);
          reads(work.operands[i]);
        }
        in.vector.output.base = address(work.output);
        if (in.vector.output.blocks.present)
          in.vector.output.blocks.base = address(work.output_scales);
        constexpr int kFarthest =
            std::numeric_limits<uint8_t>::max();  // a smaller distance waits for a later
                                                  // instruction, which is correct too
        in.wait_distance =
            static_cast<uint8_t>(awaited == kNobody ? 0 : std::min(number - awaited, kFarthest));
        writer[static_cast<size_t>(work.output.buffer)] = number;
        if (const Status status = CheckInstruction(in, config_); !status.ok()) {
          return WithContext(fmt::format("{}: node '{}'", graph_.source(), kernel.info.name),
                             status);
        }
        if (parts_.steps.empty() || parts_.steps.back().kind == Step::Kind::kHost) {
          parts_.steps.push_back({Step::Kind::kInstructions, number, number});
        }
        parts_.steps.back().end = number + 1;
        parts_.instructions.push_back(std::move(in));
      }
      parts_.kernels.push_back(std::move(kernel.info));
    }
    return OkStatus();
  }

  Lowered lowered_;
  const Graph& graph_;
  const Config& config_;
  const Ranking ranking_;
  Scheduler scheduler_;
  SumCheck sums_;
  // Codes that `packed_weights` would store in fewer bits, and these bits.
  std::map<const WeightCodes*, int> unpacked_;
  std::vector<int> first_, last_;
  std::vector<uint64_t> addresses_;
  ProgramParts parts_;
};

}  // namespace

uint8_t BitsOfPackedWeights(const WeightCodes& weights, const Config& config, int precision) {
  if (weights.packed_bits == 0) return 0;
  const Format& format = config.weight_format_of(precision);
  // The most beats of a row. Rows follow one another from the beginning of a beat on, so that they
  // begin at multiples of the greatest common divisor.
  const auto most_beats = [&](const Convolution& convolution) {
    const int64_t port = config.weight_port_bytes, row = WeightRowBytes(convolution, config);
    return BeatsOf(static_cast<uint64_t>(port - std::gcd(port, row)), row, port);
  };
  const int64_t allowed = most_beats(Convolution());
  Convolution packed;
  const int most = format.is_integer() ? 7 : weights.packed_bits;
  for (int bits = weights.packed_bits; bits <= most; ++bits) {
    packed.weight_bits = static_cast<uint8_t>(bits);
    if (most_beats(packed) <= allowed) return packed.weight_bits;
  }
  return 0;
}

LargeBytes TileWeights(const WeightCodes& weights, const Instruction& instruction,
                       const Config& config) {
  const int64_t lanes = config.array_columns, bytes = weights.bytes,
                word = WeightRowBytes(instruction.convolution, config);
  const int packed_bits = instruction.convolution.weight_bits;
  // Copies the codes of one row for a column tile to `to`. Bits without a code stay 0.
  const auto copy_row = [&](int64_t batch, int64_t row, int64_t column_tile, uint8_t* to) {
    const int64_t first = column_tile * lanes, count = std::min(lanes, weights.columns - first);
    if (row < 0 || count <= 0) return;
    const uint8_t* at =
        weights.codes.data() + ((batch * weights.rows + row) * weights.columns + first) * bytes;
    if (packed_bits == 0) {
      std::copy_n(at, count * bytes, to);
      return;
    }
    for (int64_t i = 0; i < count * packed_bits; ++i) {
      const uint8_t* code = at + i / packed_bits * bytes;  // its lowest byte has all of its bits
      to[i / 8] |= static_cast<uint8_t>((*code >> i % packed_bits & 1) << i % 8);
    }
  };
  const Geometry g = GeometryOf(instruction, config);
  if (instruction.opcode == Opcode::kDepthwise) {
    LargeBytes out(static_cast<size_t>(g.column_tiles * weights.rows * word));
    for (int32_t tile = 0; tile < g.column_tiles; ++tile) {
      for (int64_t tap = 0; tap < weights.rows; ++tap)
        copy_row(0, tap, tile, out.data() + (tile * weights.rows + tap) * word);
    }
    return out;
  }
  const int64_t tile_bytes = config.array_rows * word, column_bytes = g.row_tiles() * tile_bytes;
  LargeBytes out(static_cast<size_t>(weights.batches * g.column_tiles * column_bytes));
  ParallelFor(weights.batches * g.column_tiles, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      uint8_t* to = out.data() + i * column_bytes;
      for (int32_t row_tile = 0; row_tile < g.row_tiles(); ++row_tile) {
        for (int32_t row = 0; row < config.array_rows; ++row, to += word) {
          copy_row(i / g.column_tiles, WeightIndex(instruction, config, row_tile, row),
                   i % g.column_tiles, to);
        }
      }
    }
  });
  return out;
}

LargeBytes TileScales(const WeightCodes& weights, const Instruction& instruction,
                      const Config& config) {
  const Geometry g = GeometryOf(instruction, config);
  const int64_t taps = weights.rows / weights.channels;
  LargeBytes out;
  for (int64_t batch = 0; batch < weights.batches; ++batch) {
    for (int32_t column_tile = 0; column_tile < g.column_tiles; ++column_tile) {
      for (int32_t row_tile = 0; row_tile < g.row_tiles(); ++row_tile) {
        const int64_t row = WeightIndex(instruction, config, row_tile, 0);
        const int64_t block =
            row / weights.channels * weights.blocks() + row % weights.channels / weights.block_size;
        for (int64_t lane = 0; lane < config.array_columns; ++lane) {
          const int64_t column = int64_t{column_tile} * config.array_columns + lane;
          const int64_t at = (batch * taps * weights.blocks() + block) * weights.columns + column;
          for (int64_t byte = 0; byte < weights.scale_bytes; ++byte) {
            const bool there = column < weights.columns;
            out.push_back(there
                              ? weights.scales[static_cast<size_t>(at * weights.scale_bytes + byte)]
                              : uint8_t{0});
          }
        }
      }
    }
  }
  return out;
}

std::vector<uint64_t> PlanMemory(const std::vector<Lifetime>& lifetimes, uint64_t base,
                                 uint64_t alignment) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return lifetimes[a].bytes != lifetimes[b].bytes ? lifetimes[a].bytes > lifetimes[b].bytes
                                                    : a < b;
  });
  std::vector<uint64_t> places(lifetimes.size(), base);
  std::vector<size_t> placed;
  for (size_t item : order) {
    const Lifetime& life = lifetimes[item];
    const uint64_t size =
        AlignUp(static_cast<uint64_t>(std::max<int64_t>(life.bytes, 1)), alignment);
    // The regions in use at the same time, by address.
    std::vector<std::pair<uint64_t, uint64_t>> busy;
    for (size_t other : placed) {
      const Lifetime& o = lifetimes[other];
      if (o.first > life.last || o.last < life.first) continue;
      busy.emplace_back(
          places[other],
          AlignUp(places[other] + static_cast<uint64_t>(std::max<int64_t>(o.bytes, 1)), alignment));
    }
    std::sort(busy.begin(), busy.end());
    uint64_t at = base, best = 0, best_gap = UINT64_MAX;
    for (const auto& [begin, end] : busy) {
      if (begin >= at + size && begin - at < best_gap) {
        best = at;
        best_gap = begin - at;
      }
      at = std::max(at, end);
    }
    places[item] = best_gap == UINT64_MAX ? at : best;
    placed.push_back(item);
  }
  return places;
}

StatusOr<std::unique_ptr<SystolicProgram>> Generate(Lowered lowered, const Graph& graph,
                                                    const Config& config,
                                                    const CompileOptions& options) {
  return Generator(std::move(lowered), graph, config, options).Run();
}

}  // namespace kiln::systolic
