// The units of the cycle level that use the memory port: models the requests of fetch, load stage,
// loader and store stage, one at a time or in runs.

#include "kiln/targets/vta/simulate/cycle/cycle_memory.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/hardware/axi_port.h"

namespace kiln::vta {
namespace {

Counter BytesOf(Memory memory) {
  switch (memory) {
    case Memory::kUop:
      return Counter::kUopBytes;
    case Memory::kWeight:
      return Counter::kWeightBytes;
    case Memory::kInput:
      return Counter::kInputBytes;
    default:
      return Counter::kAccumulatorBytes;
  }
}

Fault NoMemory(const Instruction& in, size_t index, const Config& config) {
  return {FaultKind::kDramRange, index,
          fmt::format("{} rows of {} bytes at {:#x} of {}: there is no memory", in.y_size,
                      BytesOfRow(in, config), AddressOfRow(in, 0, config), NameOf(in.memory))};
}

// Returns the greatest number of words or elements in flight: one starts per cycle, and none takes
// longer than this number of cycles (ReadPort).
size_t MostUnderWay(const Config& config) { return static_cast<size_t>(config.memory_latency) + 4; }

size_t QueueDepth(const Config& config) {
  return static_cast<size_t>(config.instruction_queue_depth);
}

}  // namespace

ReadUnits::ReadUnits(CycleLaunch& launch, ComputeStage& compute, Fifo<size_t>& stores,
                     uint64_t address)
    : launch_(launch),
      compute_(compute),
      stores_(stores),
      address_(address),
      fetched_(std::min(launch.count, launch.program.size() + 1)),
      port_(launch.config.memory_latency),
      words_(MostUnderWay(launch.config)),
      loads_(QueueDepth(launch.config)) {}

Fifo<size_t>& ReadUnits::FifoOf(const Instruction& in) {
  switch (QueueOf(in)) {
    case Stage::kLoad:
      return loads_;
    case Stage::kStore:
      return stores_;
    case Stage::kCompute:
      break;
  }
  return compute_.queue();
}

void ReadUnits::KeepWaiting(Owner but, Cycle cycles) {
  if (but != kLoader && readers_[kLoader].run.active())
    launch_.counters[Counter::kLoaderPort] += cycles;
  if (but != kLoad && readers_[kLoad].run.active()) launch_.counters[Counter::kLoadPort] += cycles;
}

void ReadUnits::AskForInstruction() {
  CycleLaunch& l = launch_;
  const auto beats = static_cast<uint64_t>(BeatsOf(address_ + asked_ * kInstructionBytes,
                                                   kInstructionBytes, l.config.memory_port_bytes));
  words_.Add(port_.Take(l.now, beats, 1), {kFetch, asked_});
  holder_ = kFetch;
  l.Span(Unit::kFetch, asked_, l.now, l.now + beats);
  ++asked_;
  l.counters[Counter::kReadBeats] += beats;
  l.counters[Counter::kInstructionBytes] += kInstructionBytes;
  l.changed = true;
  KeepWaiting(kFetch, beats);
}

void ReadUnits::Ask(Owner owner, Cycle at, uint64_t count) {
  CycleLaunch& l = launch_;
  Reader& reader = readers_[owner];
  const uint64_t beats = reader.run.data() ? reader.beats : 0;
  if (beats > 0) {
    l.counters[Counter::kReadBeats] += beats * count;
    l.counters[reader.of_bytes] += reader.bytes * count;
  }
  const Cycle word = port_.Take(at, beats, count);
  holder_ = owner;
  reader.run.Advance(count);
  KeepWaiting(owner, port_.free_at() - at);
  if (reader.run.active()) return;

  words_.Add(word, {owner, reader.id});
  EndReader(owner, at);
}

void ReadUnits::EndReader(Owner owner, Cycle at) {
  CycleLaunch& l = launch_;
  const Reader& reader = readers_[owner];
  l.counters[owner == kLoad ? Counter::kLoadBusy : Counter::kLoaderBusy] += at - reader.start;
  l.Span(owner == kLoad ? Unit::kLoad : Unit::kLoader, reader.instruction, reader.start + 1,
         at + 1);
  l.changed = true;
}

void ReadUnits::Arbitrate() {
  load_free_ = !readers_[kLoad].run.active();
  loader_free_ = !readers_[kLoader].run.active();
  if (launch_.shared != nullptr) return ArbitrateShared(*launch_.shared);
  if (launch_.now < port_.free_at()) return;
  if (FetchIsNext()) {
    AskForInstruction();
  } else if (!loader_free_) {
    Ask(kLoader, launch_.now, 1);
  } else if (!load_free_) {
    Ask(kLoad, launch_.now, 1);
  }
}

void ReadUnits::ArbitrateShared(SharedMemory& shared) {
  CycleLaunch& l = launch_;
  std::optional<Owner> served = holder_;  // the port serves it in this cycle
  if (shared.reads.ready(l.now)) {
    served = std::nullopt;
    if (FetchIsNext()) {
      served = kFetch;
    } else if (!loader_free_) {
      served = kLoader;
    } else if (!load_free_) {
      served = kLoad;
    }
    if (served.has_value()) {
      holder_ = *served;
      AskShared(shared, *served);
    }
  }
  if (!loader_free_ && served != kLoader) ++l.counters[Counter::kLoaderPort];
  if (!load_free_ && served != kLoad) ++l.counters[Counter::kLoadPort];
}

void ReadUnits::AskShared(SharedMemory& shared, Owner owner) {
  CycleLaunch& l = launch_;
  if (owner == kFetch) {
    const uint64_t address = address_ + asked_ * kInstructionBytes;
    const auto beats =
        static_cast<uint64_t>(BeatsOf(address, kInstructionBytes, l.config.memory_port_bytes));
    shared.reads.Request(l.now, address, kInstructionBytes, {owner, asked_, true});
    l.Span(Unit::kFetch, asked_, l.now, l.now + beats);
    ++asked_;
    l.counters[Counter::kReadBeats] += beats;
    l.counters[Counter::kInstructionBytes] += kInstructionBytes;
    l.changed = true;
    return;
  }
  Reader& reader = readers_[owner];
  const bool last = reader.run.left() == 1;
  if (reader.run.data()) {
    const uint64_t address = AddressOfRow(l.program[reader.instruction],
                                          static_cast<uint32_t>(reader.run.row()), l.config) +
                             reader.run.column() * reader.bytes;
    shared.reads.Request(l.now, address, reader.bytes, {owner, reader.id, last});
    l.counters[Counter::kReadBeats] += reader.beats;
    l.counters[reader.of_bytes] += reader.bytes;
  } else {
    shared.reads.Request(l.now, 0, 0, {owner, reader.id, last});
  }
  reader.run.Advance(1);
  if (last) EndReader(owner, l.now);
}

void ReadUnits::StartReader(Owner owner, size_t instruction, uint64_t id) {
  CycleLaunch& l = launch_;
  const Instruction& in = l.program[instruction];
  l.changed = true;
  if (in.x_size > 0 && !l.data.Reaches(in, l.memory))
    return l.Stop(NoMemory(in, instruction, l.config));
  Reader& reader = readers_[owner];
  reader.run.Begin(in);
  reader.id = id;
  reader.instruction = instruction;
  reader.bytes = in.x_size > 0 ? BytesOfElement(in.memory, l.config) : 0;
  reader.beats =
      std::max<uint64_t>(1, reader.bytes / static_cast<uint64_t>(l.config.memory_port_bytes));
  reader.of_bytes = BytesOf(in.memory);
  reader.start = l.now;
  // The port may still be occupied by another unit's request when the first one is made. Behind a
  // simulated memory ArbitrateShared counts these cycles.
  if (l.shared == nullptr && holder_ != owner && port_.free_at() > l.now + 1) {
    l.counters[owner == kLoad ? Counter::kLoadPort : Counter::kLoaderPort] +=
        port_.free_at() - (l.now + 1);
  }
}

void ReadUnits::StartLoads() {
  StartLoadStage();
  StartLoader();
}

void ReadUnits::StartLoadStage() {
  CycleLaunch& l = launch_;
  if (!load_free_ || loads_.empty()) return;
  const size_t index = loads_.front();
  const Instruction& in = l.program[index];
  if (!l.tokens.Ready(in)) return l.Lose(Counter::kLoadTokens);
  l.tokens.Take(in, index);
  loads_.Pop();
  l.Begin(index);
  ++l.counters[Counter::kLoadInstructions];
  StartReader(kLoad, index, index);
}

void ReadUnits::StartLoader() {
  Fifo<uint64_t>& queue = compute_.loader_queue();
  if (!loader_free_ || queue.empty()) return;
  const uint64_t place = queue.front();
  queue.Pop();
  StartReader(kLoader, compute_.InstructionAt(place), place);
}

void ReadUnits::HandOn() {
  CycleLaunch& l = launch_;
  if (fetch_queue_.empty()) return;
  const size_t index = fetch_queue_.front();
  if (checked_ == index) {
    if (auto fault = FaultOfWord(l.program[index], index, l.config))
      return l.Stop(*std::move(fault));
    ++checked_;
  }
  Fifo<size_t>& queue = FifoOf(l.program[index]);
  if (queue.full()) return l.Lose(Counter::kFetchQueueFull);
  queue.Push(index);
  fetch_queue_.Pop();
  ++handed_;
  ++l.counters[Counter::kFetchInstructions];
  l.changed = true;
}

void ReadUnits::Loaded(size_t instruction) {
  CycleLaunch& l = launch_;
  const Instruction& in = l.program[instruction];
  if (in.x_size == 0) return;
  l.data.Load(in, l.memory);
  const uint64_t elements = uint64_t{in.x_size} * in.y_size;
  switch (in.memory) {
    case Memory::kUop:
      l.profile.uop_load_bytes += elements * BytesOfElement(Memory::kUop, l.config);
      break;
    case Memory::kWeight:
      l.profile.weight_load_bytes += elements * BytesOfElement(Memory::kWeight, l.config);
      break;
    case Memory::kInput:
      l.profile.input_load_bytes += elements * BytesOfElement(Memory::kInput, l.config);
      break;
    default:  // 8-bit accumulators count at full width, as in the original
      l.profile.accumulator_load_bytes += elements * BytesOfElement(Memory::kAccumulator, l.config);
  }
}

void ReadUnits::Arrive() {
  CycleLaunch& l = launch_;
  if (l.shared != nullptr) {
    if (l.shared->reads.next_word() != l.now) return;
    const SharedMemory::Word word = l.shared->reads.TakeWord();
    if (word.has_effect) Take({static_cast<Owner>(word.owner), word.id});
    return;
  }
  if (words_.next() != l.now) return;
  const Word word = words_.front();
  words_.Pop();
  Take(word);
}

void ReadUnits::Take(const Word& word) {
  CycleLaunch& l = launch_;
  l.changed = true;
  switch (word.owner) {
    case kFetch:
      if (word.id < l.program.size()) return fetch_queue_.Push(word.id);
      return l.Stop({FaultKind::kDramRange, word.id,
                     fmt::format("an instruction at {:#x}: there is no memory",
                                 address_ + word.id * uint64_t{kInstructionBytes})});
    case kLoader:
      Loaded(compute_.InstructionAt(word.id));
      return compute_.LoaderIsDone(word.id);
    case kLoad:
      Loaded(word.id);
      return l.Done(word.id);
  }
}

void ReadUnits::EndCycle() {
  fetch_queue_.EndCycle();
  loads_.EndCycle();
}

Cycle ReadUnits::NextEvent() const {
  const Cycle next = words_.next();
  return FetchIsNext() && port_.free_at() > launch_.now ? std::min(next, port_.free_at()) : next;
}

Cycle ReadUnits::Skip(Cycle end) {
  const Owner owner = readers_[kLoader].run.active() ? kLoader : kLoad;
  Reader& reader = readers_[owner];
  if (!reader.run.active() || FetchIsNext()) return end;
  Cycle at = std::max(launch_.now + 1, port_.free_at());
  for (; at < end && reader.run.left() > 1; at = port_.free_at()) {
    const uint64_t each = reader.run.data() ? reader.beats : 1;
    Ask(owner, at,
        std::min({reader.run.Alike(), reader.run.left() - 1, (end - 1 - at) / each + 1}));
  }
  return std::min(at, end);
}

StoreStage::StoreStage(CycleLaunch& launch)
    : launch_(launch), queue_(QueueDepth(launch.config)), done_(MostUnderWay(launch.config)) {}

void StoreStage::Start() {
  CycleLaunch& l = launch_;
  if (l.now < free_ || queue_.empty()) return;
  const size_t index = queue_.front();
  const Instruction& in = l.program[index];
  if (!l.tokens.Ready(in)) return l.Lose(Counter::kStoreTokens);
  l.tokens.Take(in, index);
  queue_.Pop();
  l.Begin(index);
  l.changed = true;
  ++l.counters[Counter::kStoreInstructions];
  if (l.shared != nullptr) return StartShared(index);
  const uint64_t elements = ElementsMoved(in);
  if (elements == 0) {
    last_done_ = std::max(l.now + 1, last_done_ + 1);
    free_ = last_done_ + 1;
    l.counters[Counter::kStoreBusy] += last_done_ - l.now;
    done_.Add(last_done_, index);
    return;
  }
  if (!l.data.Reaches(in, l.memory)) return l.Stop(NoMemory(in, index, l.config));
  const uint64_t bytes = BytesOfElement(in.memory, l.config);
  const uint64_t beats =
      std::max<uint64_t>(1, bytes / static_cast<uint64_t>(l.config.memory_port_bytes));
  // The first element is read in the next cycle and can be written from the one after that. The
  // others follow as the port accepts them.
  const Cycle last = std::max(l.now + 2, port_free_) + (elements - 1) * beats;
  port_free_ = last + beats;
  last_done_ = port_free_ - 1 + static_cast<Cycle>(l.config.memory_latency);
  free_ = last + 1;
  done_.Add(last_done_, index);
  l.counters[Counter::kStoreBusy] += last - l.now;
  l.counters[Counter::kWriteBeats] += elements * beats;
  l.counters[Counter::kOutputBytes] += elements * bytes;
  l.Span(Unit::kStore, index, l.now + 1, last + 1);
}

void StoreStage::StartShared(size_t index) {
  CycleLaunch& l = launch_;
  const Instruction& in = l.program[index];
  const uint64_t elements = ElementsMoved(in);
  if (elements > 0 && !l.data.Reaches(in, l.memory)) return l.Stop(NoMemory(in, index, l.config));
  current_ = {.instruction = index, .left = elements, .start = l.now, .empty = elements == 0};
  free_ = kNever;
}

void StoreStage::Write() {
  CycleLaunch& l = launch_;
  // The first element is read in the cycle after the start and can be written from the next one on.
  if (current_.left == 0 || l.now < current_.start + 2 || !l.shared->writes.ready(l.now)) return;
  const Instruction& in = l.program[current_.instruction];
  const uint64_t bytes = BytesOfElement(in.memory, l.config);
  const bool last = --current_.left == 0;
  l.shared->writes.Request(l.now,
                           AddressOfRow(in, current_.row, l.config) + current_.column * bytes,
                           bytes, {current_.instruction, last});
  l.counters[Counter::kWriteBeats] +=
      std::max<uint64_t>(1, bytes / static_cast<uint64_t>(l.config.memory_port_bytes));
  l.counters[Counter::kOutputBytes] += bytes;
  if (++current_.column == in.x_size) {
    current_.column = 0;
    ++current_.row;
  }
  if (!last) return;
  free_ = l.now + 1;
  l.counters[Counter::kStoreBusy] += l.now - current_.start;
  l.Span(Unit::kStore, current_.instruction, current_.start + 1, l.now + 1);
  l.changed = true;
}

void StoreStage::FinishShared(SharedMemory& shared) {
  CycleLaunch& l = launch_;
  if (shared.writes.next_done() == l.now) {
    const SharedMemory::Element element = shared.writes.TakeDone();
    if (element.last) Stored(element.instruction);
  }
  if (!current_.empty || l.now == current_.start || !shared.writes.idle(l.now)) return;
  current_.empty = false;
  free_ = l.now + 1;
  l.counters[Counter::kStoreBusy] += l.now - current_.start;
  Stored(current_.instruction);
}

void StoreStage::Finish() {
  CycleLaunch& l = launch_;
  if (l.shared != nullptr) return FinishShared(*l.shared);
  if (done_.next() != l.now) return;
  const size_t index = done_.front();
  done_.Pop();
  Stored(index);
}

void StoreStage::Stored(size_t index) {
  CycleLaunch& l = launch_;
  const Instruction& in = l.program[index];
  if (in.x_size > 0) {
    l.data.Store(in, l.memory);
    l.profile.output_store_bytes += in.y_size * BytesOfRow(in, l.config);
  }
  l.Done(index);
}

Cycle StoreStage::NextEvent() const {
  if (launch_.shared != nullptr && (current_.left > 0 || current_.empty)) return launch_.now + 1;
  const Cycle next = done_.next();
  return !queue_.empty() && free_ > launch_.now ? std::min(next, free_) : next;
}

}  // namespace kiln::vta
