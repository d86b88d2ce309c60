// The clock of the machine: streams and their registers, dispatch, the sequencer of the fabric,
// output queues. Every unit works on the registers' contents at the beginning of the cycle. The
// chapter "Clock cycles of a run" of docs/cgra-machine.md is the specification;
// bench/cgra_rtl_programs compares bits and cycles with the RTL.

#include "kiln/targets/cgra/simulate/cycle/cycle.h"

#include <algorithm>
#include <deque>

#include "fmt/format.h"
#include "kiln/hardware/stream_memory_model.h"
#include "kiln/support/random.h"
#include "kiln/targets/cgra/isa/derived.h"
#include "kiln/targets/cgra/isa/stream.h"
#include "kiln/targets/cgra/simulate/cycle/fabric.h"
#include "kiln/targets/run/unit_spans.h"

namespace kiln::cgra {
namespace {

constexpr size_t kRegisterBeats = 2;     // of each stream
constexpr int kFillCycles = 2;           // of fetching before the first fabric cycle
constexpr int64_t kQuietLimit = 100000;  // cycles in which nothing happens

// Places in Trace::units; tiles follow.
enum TraceUnit { kIn, kOut, kLoad, kDispatch, kFabric, kFirstTile };

using Lanes = std::vector<uint32_t>;

}  // namespace

// The registers and memories of one machine, and the counters of one stream.
struct CycleMachine::State {
  enum class Phase : uint8_t { kHeader, kWrite, kParameters, kDeliver, kFinish };

  // A write that is under way: it takes place at the end of cycle `at`.
  struct PendingWrite {
    int64_t at = 0;
    int tile = 0, memory = 0, address = 0;
    Lanes lanes;
  };

  // A result on its way: in the queue from cycle `at` on.
  struct PendingResult {
    int64_t at = 0;
    int output = 0;
    Lanes lanes;
  };

  struct OutputQueue {
    std::deque<Lanes> words;
    int64_t highest = 0;
  };

  explicit State(const Config& config)
      : config(config), fabric(config), table(kDeliveryEntries, 0) {}

  StatusOr<CycleResult> Run(std::span<const uint8_t> stream, const CycleOptions& options);
  Status Step(const CycleOptions& options);
  void StreamOut(const CycleOptions& options);
  void Leave();
  void Advance(bool space);
  Status Dispatch();
  Status TakeHeader(std::span<const uint8_t> beat);
  Status TakeWrite(std::span<const uint8_t> beat);
  Status TakeParameters(std::span<const uint8_t> beat);
  void Deliver();
  void StreamIn(const CycleOptions& options);
  void PutBehind(const CycleOptions& options);
  void EndCycle();
  Trace MakeTrace();
  bool AtRest() const {
    return phase == Phase::kHeader && sent_beats == beats && in_register.empty() &&
           out_register.empty() && writes.empty() && !(memory.has_value() && memory->busy());
  }

  const Config config;
  Fabric fabric;
  std::vector<uint32_t> table;

  // The stream in.
  std::span<const uint8_t> stream;
  size_t beats = 0, sent_beats = 0;
  bool offered = false;
  std::deque<size_t> in_register;  // numbers of beats
  size_t in_count = 0;             // at the begin of the cycle
  Random random{1};
  std::optional<hardware::StreamMemoryModel> memory;

  // Dispatch.
  Phase phase = Phase::kHeader;
  Header header;
  int64_t write_beat = 0;
  uint64_t low_half = 0;
  std::vector<PendingWrite> writes;
  int index = 0;          // of the next delivery
  int64_t delivered = 0;  // threads
  size_t last_beat = 0;
  std::vector<int64_t> arriving;  // cycles from which on one more thread counts

  // The run.
  int64_t threads = 0, first_sent = 0;
  int64_t ready = 0, finished = 0;
  bool running = false;
  int filling = 0;
  int slot = 0;
  int64_t period = 0, until_finish = 0;

  // Results.
  std::deque<PendingResult> results;
  std::vector<OutputQueue> queues;
  int64_t left_thread = 0;
  int place = 0;
  std::deque<Lanes> out_register;
  size_t out_count = 0;
  std::vector<uint8_t> out;

  // Time and counters.
  int64_t now = 0, first_in = -1, last_out = -1, last_event = 0;
  int64_t out_beats = 0;
  int64_t load_busy = 0, dispatch_busy = 0, dispatch_no_beat = 0, dispatch_ring = 0,
          dispatch_run = 0;
  int64_t fabric_cycles = 0, wait_inputs = 0, wait_outputs = 0;
  std::vector<int64_t> fired_before;
  UnitSpans spans{static_cast<size_t>(kFirstTile + config.tiles())};
  bool loading = false;        // the last command was a write
  std::vector<int64_t> fired;  // by tile, until the cycle before
};

StatusOr<CycleResult> CycleMachine::State::Run(std::span<const uint8_t> bytes,
                                               const CycleOptions& options) {
  if (bytes.size() % BeatBytes(config) != 0) {
    return ErrorAt("", "stream in", fmt::format("it has {} bytes", bytes.size()),
                   fmt::format("beats of {} bytes", BeatBytes(config)));
  }
  stream = bytes;
  beats = bytes.size() / BeatBytes(config);
  random = Random(options.seed);
  if (options.memory.has_value()) PutBehind(options);
  queues.assign(static_cast<size_t>(config.outputs), {});
  for (int tile = 0; tile < config.tiles(); ++tile) fired_before.push_back(fabric.fired(tile));
  fired = fired_before;
  while (!AtRest()) {
    KILN_RETURN_IF_ERROR(Step(options));
    if (options.most_cycles > 0 && now > options.most_cycles) {
      return ErrorAt("", "simulation", fmt::format("it takes more than {} cycles", now - 1),
                     "a higher limit of cycles");
    }
    if (now - last_event > kQuietLimit) {
      return ErrorAt("", "simulation",
                     fmt::format("the machine waits after {} of {} beats and {} results",
                                 sent_beats, beats, out_beats),
                     "all beats of the last command, and a program that its machine can run");
    }
  }
  return CycleResult{.bytes = std::move(out), .trace = MakeTrace(), .cycles_in_all = now};
}

void CycleMachine::State::PutBehind(const CycleOptions& options) {
  const auto bytes = static_cast<int>(BeatBytes(config));
  std::vector<hardware::StreamPlace> places = {{beats, bytes},
                                               {static_cast<uint64_t>(options.beats_out), bytes}};
  hardware::PlaceStreams(&places);
  memory.emplace(*options.memory, places, 1);
}

// One clock cycle. Units run in an order in which none sees what another writes in the same cycle:
// the stream out before the queues, the queues' space before a result leaves, deliveries before the
// fabric.
Status CycleMachine::State::Step(const CycleOptions& options) {
  in_count = in_register.size();
  out_count = out_register.size();
  while (!arriving.empty() && arriving.front() <= now) {
    ++ready;
    arriving.erase(arriving.begin());
  }
  // Results that have arrived are in their queues from the begin of the cycle on.
  while (!results.empty() && results.front().at <= now) {
    OutputQueue& queue = queues[static_cast<size_t>(results.front().output)];
    queue.words.push_back(std::move(results.front().lanes));
    queue.highest = std::max(queue.highest, static_cast<int64_t>(queue.words.size()));
    results.pop_front();
  }
  // Units before others in this function do not change what those see of the begin of the cycle:
  // deliveries look at `finished` before the fabric cycle counts.
  const bool ends = phase == Phase::kFinish && finished == threads && left_thread == threads;
  StreamOut(options);
  bool space = true;
  for (const OutputQueue& queue : queues) {
    space = space && static_cast<int>(queue.words.size()) <= config.output_depth - kReservedEntries;
  }
  Leave();
  if (phase == Phase::kDeliver || phase == Phase::kFinish) {
    if (phase == Phase::kDeliver) Deliver();
    Advance(space);
    if (phase == Phase::kFinish) ++dispatch_run;
    if (ends) phase = Phase::kHeader;
  } else {
    KILN_RETURN_IF_ERROR(Dispatch());
  }
  StreamIn(options);
  EndCycle();
  return OkStatus();
}

// The stream out takes a beat from its register.
void CycleMachine::State::StreamOut(const CycleOptions& options) {
  const bool taken = memory.has_value()
                         ? memory->takes(0)
                         : options.out_stalls <= 0 || random.Uniform() >= options.out_stalls;
  if (out_register.empty()) return;
  if (!taken) return;
  for (const uint32_t lane : out_register.front()) {
    for (int i = 0; i < 4; ++i) out.push_back(static_cast<uint8_t>(lane >> (8 * i)));
  }
  out_register.pop_front();
  ++out_beats;
  last_out = last_event = now;
}

// A result leaves the queue whose turn it is.
void CycleMachine::State::Leave() {
  if (left_thread >= threads || out_count >= kRegisterBeats) return;
  std::deque<Lanes>& words = queues[static_cast<size_t>(place)].words;
  if (words.empty()) return;
  if (left_thread >= first_sent) {
    out_register.push_back(std::move(words.front()));
    spans.Work(kOut, now + 1, now + 2);
  }
  words.pop_front();
  last_event = now;
  if (++place < header.outputs) return;
  place = 0;
  ++left_thread;
}

// Executes a fabric cycle, unless a period waits. `space`: every output queue has enough.
void CycleMachine::State::Advance(bool space) {
  if (!running) return;
  if (filling > 0) {
    --filling;
    return;
  }
  if (finished == threads) {
    running = false;
    return;
  }
  if (slot == 0 && !space) {
    ++wait_outputs;
    return;
  }
  if (slot == 0 && period < threads && header.deliveries > 0 && ready <= period) {
    ++wait_inputs;
    return;
  }
  const auto base_thread = static_cast<int>(period % config.ring_entries);
  for (const FabricResult& result : fabric.Cycle(slot, period < threads, base_thread)) {
    results.push_back({now + kResultToQueueCycles, result.output,
                       Lanes(result.lanes.begin(), result.lanes.end())});
  }
  ++fabric_cycles;
  last_event = now;
  spans.Work(kFabric, now, now + 1);
  for (int tile = 0; tile < config.tiles(); ++tile) {
    const int64_t count = fabric.fired(tile);
    if (count == fired[static_cast<size_t>(tile)]) continue;
    fired[static_cast<size_t>(tile)] = count;
    spans.Work(kFirstTile + tile, now, now + 1);
  }
  if (++slot == header.interval) {
    slot = 0;
    ++period;
  }
  if (--until_finish == 0) {
    until_finish = header.interval;
    ++finished;
  }
}

// Takes one beat from the register of the stream in, if there is one, and gives it to the phase.
Status CycleMachine::State::Dispatch() {
  if (in_count == 0) {
    ++dispatch_no_beat;
    return OkStatus();
  }
  const size_t number = in_register.front();
  in_register.pop_front();
  last_event = now;
  const std::span<const uint8_t> beat =
      stream.subspan(number * BeatBytes(config), BeatBytes(config));
  if (phase == Phase::kHeader) {
    loading = DecodeHeader(WordOf(beat)).command != Command::kRun;
  }
  (loading ? load_busy : dispatch_busy) += 1;
  spans.Work(loading ? kLoad : kDispatch, now, now + 1);
  switch (phase) {
    case Phase::kHeader:
      return TakeHeader(beat);
    case Phase::kWrite:
      return TakeWrite(beat);
    default:
      return TakeParameters(beat);
  }
}

Status CycleMachine::State::TakeHeader(std::span<const uint8_t> beat) {
  const Header taken = DecodeHeader(WordOf(beat));
  if (taken.command == Command::kRun) {
    header = taken;
    phase = Phase::kParameters;
    return OkStatus();
  }
  if (taken.command != Command::kWrite || taken.beats == 0) return OkStatus();
  header = taken;
  phase = Phase::kWrite;
  write_beat = 0;
  const bool is_instruction = taken.target == WriteTarget::kInstructions;
  const int64_t entries = is_instruction ? taken.beats / 2 : taken.beats;
  const std::array<int, kWriteTargets> depths = {config.memory_depth, config.memory_depth,
                                                 config.spoke_depth, config.instruction_depth,
                                                 kDeliveryEntries};
  const auto target = static_cast<size_t>(taken.target);
  const bool is_whole = !is_instruction || taken.beats % 2 == 0;
  if (is_whole && target < depths.size() && taken.address + entries <= depths[target] &&
      (taken.target == WriteTarget::kDeliveries || taken.tile < config.tiles())) {
    return OkStatus();
  }
  return ErrorAt("", "stream in",
                 fmt::format("a command writes {} beats from address {} of target {} of tile {}",
                             taken.beats, taken.address, target, taken.tile),
                 "writes of whole words inside of memories");
}

// Writes to tile memories take effect at the end of the next cycle. Writes to the configuration
// take effect at once, which no run can observe.
Status CycleMachine::State::TakeWrite(std::span<const uint8_t> beat) {
  const int64_t number = write_beat++;
  if (write_beat == header.beats) phase = Phase::kHeader;
  const auto address = header.address + static_cast<int>(number);
  switch (header.target) {
    case WriteTarget::kDeliveries:
      table[static_cast<size_t>(address)] = static_cast<uint32_t>(WordOf(beat));
      return OkStatus();
    case WriteTarget::kSpokes:
      // Tiles fetch in runs alone, which begin at least two beats later.
      fabric.WriteSpoke(header.tile, address, static_cast<uint32_t>(WordOf(beat)));
      return OkStatus();
    case WriteTarget::kInstructions:
      if (number % 2 == 0) {
        low_half = WordOf(beat);
      } else {
        fabric.WriteInstruction(header.tile, header.address + static_cast<int>(number / 2),
                                {low_half, WordOf(beat)});
      }
      return OkStatus();
    default: {
      std::vector<int32_t> lanes(static_cast<size_t>(config.lanes));
      ReadLanes(beat, lanes);
      writes.push_back({now + 1, header.tile, static_cast<int>(header.target), address,
                        Lanes(lanes.begin(), lanes.end())});
      return OkStatus();
    }
  }
}

Status CycleMachine::State::TakeParameters(std::span<const uint8_t> beat) {
  const uint64_t parameters = WordOf(beat);
  threads = static_cast<int64_t>(parameters & 0xffffffffU);
  first_sent = static_cast<int64_t>(parameters >> 32);
  // A thread's inputs stay in a ring until the thread ends.
  const int64_t most_latency = int64_t{config.ring_entries} * header.interval;
  if (header.interval < 1 || header.interval > config.spoke_depth || header.latency < 1 ||
      header.latency > most_latency || header.outputs < 1 || header.outputs > config.outputs) {
    return ErrorAt("", "stream in",
                   fmt::format("a run with interval {}, latency {} and {} outputs", header.interval,
                               header.latency, header.outputs),
                   fmt::format("intervals to {}, latencies to {} intervals, outputs to {}",
                               config.spoke_depth, config.ring_entries, config.outputs));
  }
  for (int i = 0; i < header.deliveries; ++i) {
    KILN_RETURN_IF_ERROR(Check(DecodeDelivery(table[static_cast<size_t>(i)]), config,
                               fmt::format("delivery {}", i)));
  }
  KILN_RETURN_IF_ERROR(fabric.Begin(header.interval));
  phase = header.deliveries == 0 || threads == 0 ? Phase::kFinish : Phase::kDeliver;
  index = 0;
  delivered = ready = finished = 0;
  running = true;
  filling = kFillCycles;
  slot = 0;
  period = 0;
  until_finish = header.latency;
  left_thread = 0;
  place = 0;
  return OkStatus();
}

// Sends the next delivery of a thread to its tile.
void CycleMachine::State::Deliver() {
  const Delivery delivery = DecodeDelivery(table[static_cast<size_t>(index)]);
  if (delivered - finished >= config.ring_entries) {
    ++dispatch_ring;
    return;
  }
  if (!delivery.same_beat) {
    if (in_count == 0) {
      ++dispatch_no_beat;
      return;
    }
    last_beat = in_register.front();
    in_register.pop_front();
  }
  ++dispatch_busy;
  spans.Work(kDispatch, now, now + 1);
  last_event = now;
  std::vector<int32_t> lanes(static_cast<size_t>(config.lanes));
  ReadLanes(stream.subspan(last_beat * BeatBytes(config), BeatBytes(config)), lanes);
  const auto place_in_ring = static_cast<int>(delivered % config.ring_entries);
  writes.push_back({now + 1, delivery.tile, delivery.memory, delivery.base + place_in_ring,
                    Lanes(lanes.begin(), lanes.end())});
  if (++index < header.deliveries) return;
  index = 0;
  arriving.push_back(now + 2);
  if (++delivered == threads) phase = Phase::kFinish;
}

// The stream in offers its next beat until the register takes it.
void CycleMachine::State::StreamIn(const CycleOptions& options) {
  if (sent_beats == beats) return;
  offered = memory.has_value()
                ? memory->offers(0)
                : offered || options.in_stalls <= 0 || random.Uniform() >= options.in_stalls;
  if (!offered) return;
  if (in_count >= kRegisterBeats) return;
  spans.Work(kIn, now, now + 1);
  in_register.push_back(sent_beats++);
  offered = false;
  last_event = now;
  if (first_in < 0) first_in = now;
}

void CycleMachine::State::EndCycle() {
  size_t done = 0;
  for (; done < writes.size() && writes[done].at <= now; ++done) {
    const PendingWrite& write = writes[done];
    fabric.WriteMemory(write.tile, write.memory, write.address, write.lanes);
  }
  writes.erase(writes.begin(), writes.begin() + static_cast<ptrdiff_t>(done));
  if (memory.has_value()) {
    if (memory->answers()) last_event = now;
    memory->Clock(in_count < kRegisterBeats ? 1 : 0, out_count > 0 ? 1 : 0);
  }
  ++now;
}

Trace CycleMachine::State::MakeTrace() {
  Trace trace;
  trace.cycles = memory.has_value()             ? memory->cycles()
                 : last_out < 0 || first_in < 0 ? now
                                                : last_out - first_in + 1;
  // Behind memory, time begins with the start of the run.
  const int64_t begin = memory.has_value() ? 0 : std::max<int64_t>(first_in, 0);
  spans.MoveTo(begin, &trace);
  const auto unit = [&](std::string name, int64_t busy, std::map<std::string, int64_t> stalls) {
    std::erase_if(stalls, [](const auto& cause) { return cause.second == 0; });
    trace.units.push_back(
        {.name = std::move(name), .busy_cycles = busy, .stall_cycles = std::move(stalls)});
  };
  unit("in", static_cast<int64_t>(sent_beats), {});
  unit("out", out_beats, {});
  const int64_t beat_bytes = int64_t{4} * config.lanes;
  trace.units[kIn].bytes_read = static_cast<int64_t>(sent_beats) * beat_bytes;
  trace.units[kOut].bytes_written = out_beats * beat_bytes;
  trace.units[kIn].transfers = trace.units[kOut].transfers = true;
  unit("load", load_busy, {});
  unit("dispatch", dispatch_busy,
       {{"no beat", dispatch_no_beat}, {"ring full", dispatch_ring}, {"run", dispatch_run}});
  // Dispatch limits a run as units that compute do: it hands every operand to every tile by itself.
  trace.units[kLoad].transfers = true;
  unit("fabric", fabric_cycles, {{"inputs", wait_inputs}, {"outputs full", wait_outputs}});
  for (int tile = 0; tile < config.tiles(); ++tile) {
    unit(fmt::format("tile {}", tile), fabric.fired(tile) - fired_before[static_cast<size_t>(tile)],
         {});
  }
  for (size_t output = 0; output < queues.size(); ++output) {
    trace.queues.push_back({.name = fmt::format("output {}", output),
                            .from = kFabric,
                            .to = -1,
                            .depth = config.output_depth,
                            .highest = queues[output].highest});
  }
  return trace;
}

CycleMachine::CycleMachine(const Config& config) : state_(std::make_unique<State>(config)) {}
CycleMachine::~CycleMachine() = default;

StatusOr<CycleResult> CycleMachine::Run(std::span<const uint8_t> stream,
                                        const CycleOptions& options) {
  // Memories stay; everything else begins anew.
  auto next = std::make_unique<State>(state_->config);
  next->fabric = std::move(state_->fabric);
  next->table = state_->table;
  state_ = std::move(next);
  return state_->Run(stream, options);
}

}  // namespace kiln::cgra
