// Steps operand fetch and lanes of the vector unit and the ports, register by register as in the
// RTL.
#include "kiln/targets/systolic/simulate/cycle/cycle_memory.h"

#include <algorithm>

#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/isa/timing.h"

namespace kiln::systolic {
namespace {

// Returns the requests after the first one.
ScaleRequests AfterFirst(const ScaleRequests& scales) {
  return {Offset(scales.address, scales.stride), scales.stride, std::max(scales.count - 1, 0),
          scales.bytes};
}

size_t InFlight(const Config& config) { return static_cast<size_t>(OutstandingRequests(config)); }

// Returns the cycles that addresses and results pass through a shared bus.
uint64_t AddressDelay(const Config& config) { return config.shared_bus ? 1 : 0; }

}  // namespace

VectorLanes::VectorLanes(hardware::Simulator& simulator, const Config& config, WritePort& port,
                         WritePort& scale_port)
    : simulator_(simulator),
      port_(port),
      scale_port_(scale_port),
      queue_words_(static_cast<size_t>(config.operand_buffer_words)) {}

int64_t VectorLanes::Begin(Word word) {
  const int64_t now = simulator_.now();
  const int64_t ready = word.reads ? kUnknown : now + 1;
  queue_.push_back({std::move(word), now, ready});
  return begun_++;
}

void VectorLanes::SetReady(int64_t number, int64_t at) {
  const auto first = begun_ - static_cast<int64_t>(queue_.size());
  queue_[static_cast<size_t>(number - first)].ready = at;
}

void VectorLanes::Enter(Word& word) {
  if (!word.to_memory) return;
  ++words_issued_;
  if (!word.gathered) {
    lanes_.push_back({advances_ + word.depth.unit, {std::move(word.writes), {}}});
    return;
  }
  gathering_.push_back({word.output, {std::move(word.writes), std::move(word.scale_writes)}});
  if (!word.last_of_scale_block) return;
  ++scales_issued_;
  // The scale block's words follow each other as the output port takes their beats.
  next_gathered_ = std::max(next_gathered_, advances_ + word.depth.unit);
  for (Gathered& gathered : gathering_) {
    lanes_.push_back({next_gathered_, std::move(gathered.output)});
    next_gathered_ += gathered.beats;
  }
  gathering_.clear();
}

bool VectorLanes::OutputIsOver(bool issued) const {
  const bool ends = gathered_ && last_of_scale_block_;
  const int64_t owed = owed_ + (ends ? scale_block_beats_ + slots_.front().beats : 0);
  return (issued ? 1 : since_) >= owed;
}

void VectorLanes::Issue(int64_t cycle) {
  // A word that reads nothing enters in the first cycle of its slot if no other word waits.
  const bool present = !queue_.empty() && queue_.front().begin < cycle;
  const bool passes_by =
      !queue_.empty() && queue_.front().begin == cycle && !queue_.front().word.reads;
  const bool issue = free_ && advance_ && (present ? queue_.front().ready <= cycle : passes_by);
  if (issue) {
    Word word = std::move(queue_.front().word);
    queue_.pop_front();
    last_of_block_ = word.last_of_block;
    gathered_ = word.gathered;
    last_of_scale_block_ = word.last_of_scale_block;
    depth_ = word.depth;
    Enter(word);
  }
  bool word_ends = false;
  if (issue || !free_) {
    since_ = issue ? 1 : since_ + (advance_ ? 1 : 0);
    word_ends = !slots_.empty() && since_ >= slots_.front().length &&
                (!last_of_block_ || OutputIsOver(issue));
    free_ = word_ends;
  } else if (advance_ && owed_ > 0) {
    --owed_;
  }
  if (word_ends) {
    const int64_t beats = slots_.front().beats;
    slots_.pop_front();
    if (gathered_) scale_block_beats_ += beats;
    if (gathered_ && last_of_scale_block_) owed_ += std::exchange(scale_block_beats_, 0);
    owed_ = std::max<int64_t>(owed_ - since_, 0);
  }
  const bool block_ends = word_ends && last_of_block_;
  // kiln_block_order.sv
  const auto leave = [&](int64_t depth, int64_t& leaving) {
    if (block_ends && leaving <= depth) {
      leaving = depth;
    } else if (advance_ && leaving > 0) {
      --leaving;
    }
  };
  leave(depth_.unit, leaving_.unit);
  leave(depth_.lanes, leaving_.lanes);
  if (!block_ends) return;
  end_advances_ = advances_;
  end_words_ = words_issued_;
  end_scales_ = scales_issued_;
  Resume(block_waiter_, cycle + 1);
}

void VectorLanes::Writing::Ask(uint64_t now, WritePort& port) {
  if (done() || !port.ready(now)) return;
  const Request& request = requests[next++];
  port.Request(now, request.address, static_cast<uint64_t>(request.bytes), done());
}

void VectorLanes::Write(int64_t cycle) {
  const bool arrives = advance_ && !lanes_.empty() && lanes_.front().leaves == advances_;
  const size_t queued = output_.size();
  if (arrives) {
    output_.push_back(std::move(lanes_.front().output));
    lanes_.pop_front();
  }
  // A word enters both writers at once.
  if (!output_.empty() && writing_.done() &&
      (output_.front().scales.empty() || writing_scales_.done())) {
    writing_.Take(std::move(output_.front().codes));
    if (!output_.front().scales.empty()) writing_scales_.Take(std::move(output_.front().scales));
    output_.pop_front();
  }
  const auto now = static_cast<uint64_t>(cycle);
  writing_.Ask(now, port_);
  writing_scales_.Ask(now, scale_port_);
  if (advance_) ++advances_;
  advance_ = advance_soon_;
  advance_soon_ = queued + 3 <= kOutputWords;
}

void VectorLanes::Finish(int64_t cycle) {
  const auto now = static_cast<uint64_t>(cycle);
  if (port_.next_done() == now && port_.TakeDone()) ++words_written_;
  if (scale_port_.next_done() == now && scale_port_.TakeDone()) ++scales_written_;
  if (ended_.empty() || advances_ < ended_.front().deadline ||
      words_written_ < ended_.front().words || scales_written_ < ended_.front().scales) {
    return;
  }
  finished_ = ended_.front().instruction;
  ended_.pop_front();
  Resume(finish_waiter_, cycle + 1);
}

void VectorLanes::Step(int64_t cycle) {
  Finish(cycle);
  Issue(cycle);
  Write(cycle);
}

void OperandFetch::Start(VectorWords words, const VectorLanes::Depth& depth) {
  words_.emplace(words);
  depth_ = depth;
  words_->Next(&word_);
  more_ = words_->Next(&next_word_);
}

const Request* OperandFetch::Asks(int64_t cycle) {
  if (!words_.has_value()) return nullptr;
  if (!begun_) {
    if (!lanes_.room()) return nullptr;
    begun_ = true;
    cycles_ = 0;
    search_left_ = word_.search;
    output_left_ = word_.output;
    gap_left_ = word_.gap;
    in_gap_ = false;
    next_ = 0;
    const bool gathered = word_.output_scales.count > 0;
    number_ = lanes_.Begin({.reads = word_.search > 0 || !word_.operands.empty(),
                            .to_memory = word_.to_memory,
                            .last_of_block = !more_,
                            .depth = depth_,
                            .output = word_.output,
                            .writes = words_->WritesOf(word_),
                            .scale_writes = gathered && first_of_scale_block_
                                                ? VectorWords::ScaleWritesOf(word_)
                                                : Requests{},
                            .gathered = gathered,
                            .last_of_scale_block = word_.last_of_scale_block});
    if (gathered) first_of_scale_block_ = word_.last_of_scale_block;
  }
  if (in_gap_ || search_left_ > 0 || reading() || next_ == word_.operands.size()) return nullptr;
  // A request waits for the port that takes its first scale.
  const Request& request = word_.operands[next_];
  const bool waits = request.scales.count > 0 && !first_scale_sent_ &&
                     !scale_port_.ready(static_cast<uint64_t>(cycle));
  return waits ? nullptr : &request;
}

Arrival OperandFetch::arrival() const {
  const bool last = next_ + 1 == word_.operands.size();
  return {last ? Arrival::Of::kOperands : Arrival::Of::kNothing, number_,
          word_.operands[next_].scales.count > 0};
}

void OperandFetch::AskScale(int64_t cycle, const ScaleRequests& scales) {
  scale_port_.Request(static_cast<uint64_t>(cycle), scales.address,
                      static_cast<uint64_t>(scales.bytes), scales.count == 1);
}

void OperandFetch::Step(int64_t cycle, bool taken) {
  if (!begun_) return;
  ++cycles_;
  if (in_gap_) {
    if (--gap_left_ == 0) EndSlot();
    return;
  }
  const bool scale_ready = scale_port_.ready(static_cast<uint64_t>(cycle));
  if (search_left_ > 0) {
    // The last cycle of a search without a result: the word reads nothing.
    if (--search_left_ == 0 && word_.operands.empty()) lanes_.SetReady(number_, cycle + 1);
  } else if (reading()) {
    if (beats_left_ > 0) --beats_left_;
    if (scales_left_.count > 0 && scale_ready) {
      AskScale(cycle, scales_left_);
      scales_left_ = AfterFirst(scales_left_);
    }
  } else if (next_ < word_.operands.size()) {
    const Request& request = word_.operands[next_];
    if (request.scales.count > 0 && !first_scale_sent_ && scale_ready) {
      AskScale(cycle, request.scales);
      first_scale_sent_ = true;
    }
    if (taken) {
      beats_left_ = request.beats - 1;
      scales_left_ = AfterFirst(request.scales);
      first_scale_sent_ = false;
      ++next_;
    }
  }
  if (output_left_ > 0) --output_left_;
  if (search_left_ > 0 || reading() || next_ < word_.operands.size() || output_left_ > 0) return;
  if (gap_left_ == 0) EndSlot();
  in_gap_ = gap_left_ > 0;
}

void OperandFetch::EndSlot() {
  lanes_.EndSlot(cycles_, word_.output);
  begun_ = false;
  if (!more_) return words_.reset();
  word_ = std::move(next_word_);
  more_ = words_->Next(&next_word_);
}

SimulatedMemory::SimulatedMemory(hardware::Simulator& simulator, const Config& config,
                                 const hardware::AxiTiming& timing, uint64_t program,
                                 Machine machine)
    : simulator_(simulator),
      shared_bus_(config.shared_bus),
      bus_(timing),
      read_buses_{hardware::AxiReadBus{bus_, AddressDelay(config)}, {bus_}, {bus_}, {bus_}},
      scale_buses_{{{bus_}, {bus_}, {bus_}}},
      reads_{ReadPort(BusOf(kProgramReader), config.instruction_bytes_per_cycle,
                      static_cast<size_t>(PrefetchWords(config))),
             ReadPort(BusOf(kInputReader), config.input_port_bytes, InFlight(config)),
             ReadPort(BusOf(kWeightReader), config.weight_port_bytes, InFlight(config)),
             ReadPort(BusOf(kOperandReader), config.operand_port_bytes, InFlight(config),
                      /*holds_words=*/config.block_size > 0)},
      output_(bus_, config.output_port_bytes, InFlight(config), AddressDelay(config)),
      scale_reads_{
          ScalePort(scale_buses_[0], kScalePortBytes, InFlight(config)),
          ScalePort(scale_buses_[1], kScalePortBytes, InFlight(config)),
          ScalePort(scale_buses_[2], kScalePortBytes, InFlight(config), /*holds_words=*/true)},
      scale_output_(bus_, kScalePortBytes, InFlight(config)),
      lanes_(simulator, config, output_, scale_output_),
      operands_(lanes_, ScalesOf(kOperandReader)),
      program_(program),
      machine_(std::move(machine)) {}

size_t SimulatedMemory::Turn(const std::array<bool, kReaders>& asks,
                             const std::array<bool, kReaders>& ready) {
  // kiln_bus_turns.sv: the bus stays with the port of the last turn until that port is free.
  if (!ready[last_turn_]) return kReaders;
  for (size_t i = 0; i < kReaders; ++i) {
    const size_t reader = (last_turn_ + 1 + i) % kReaders;
    if (asks[reader] && ready[reader]) return last_turn_ = reader;
  }
  return kReaders;
}

void SimulatedMemory::AskScale(uint64_t now, Reader reader, const ScalesLeft& scales) {
  ScalesOf(reader).Request(now, scales.address, static_cast<uint64_t>(scales.bytes),
                           scales.last_of_fill && scales.count == 1);
  scales_left_[reader] = {AfterFirst(scales), scales.last_of_fill};
}

void SimulatedMemory::Accept(int64_t cycle) {
  const auto now = static_cast<uint64_t>(cycle);
  for (const Reader reader : {kInputReader, kWeightReader}) {
    if (scales_left_[reader].count > 0 && ScalesOf(reader).ready(now))
      AskScale(now, reader, ScalesLeft(scales_left_[reader]));
  }
  const Request program{program_ + static_cast<uint64_t>(program_words_) * kInstructionWordBytes,
                        kInstructionWordBytes, 1};
  const Request* const operand = operands_.Asks(cycle);
  std::array<const Request*, kReaders> requests{};
  std::array<bool, kReaders> ready{}, on_bus{};
  for (size_t reader = 0; reader < kReaders; ++reader) {
    ready[reader] = reads_[reader].ready(now);
    if (asked_[reader].handle) requests[reader] = &asked_[reader].request;
  }
  if (machine_.wants_program(program_words_)) requests[kProgramReader] = &program;
  if (operand != nullptr) requests[kOperandReader] = operand;
  for (const Reader reader : {kInputReader, kWeightReader}) {
    if (requests[reader] == nullptr || requests[reader]->scales.count == 0) continue;
    if (!ready[reader] || ScalesOf(reader).ready(now)) continue;
    ++asked_[reader].waited;
    requests[reader] = nullptr;
  }
  for (size_t reader = 0; reader < kReaders; ++reader)
    on_bus[reader] = requests[reader] != nullptr && requests[reader]->bytes > 0;
  const size_t turn = shared_bus_ ? Turn(on_bus, ready) : size_t{kReaders};
  bool operand_taken = false;
  for (size_t reader = 0; reader < kReaders; ++reader) {
    const Request* const request = requests[reader];
    if (request == nullptr || !ready[reader]) continue;
    if (shared_bus_ && on_bus[reader] && reader != turn) continue;
    Arrival arrival{Arrival::Of::kProgramWord};
    if (request == operand) {
      arrival = operands_.arrival();
      operand_taken = true;
    } else if (request == &program) {
      ++program_words_;
    } else {
      Asked& asked = asked_[reader];
      arrival = asked.arrival;
      if (request->scales.count > 0)
        AskScale(now, static_cast<Reader>(reader), {request->scales, asked.last_scales});
      simulator_.Schedule(cycle + 1, std::exchange(asked.handle, nullptr));
    }
    reads_[reader].Request(now, request->address, static_cast<uint64_t>(request->bytes), arrival);
  }
  operands_.Step(cycle, operand_taken);
}

void SimulatedMemory::TakeWords() {
  for (const Reader reader : {kProgramReader, kInputReader, kWeightReader}) {
    for (ReadPort& port = reads_[reader]; port.next_word() != hardware::kNeverDone;) {
      const auto at = static_cast<int64_t>(port.next_word());
      const Arrival arrival = port.TakeWord();
      if (arrival.of == Arrival::Of::kInputs || arrival.of == Arrival::Of::kWeights) {
        fills_[reader].Codes(arrival, at);
      } else if (arrival.of != Arrival::Of::kNothing) {
        machine_.arrived(arrival, at);
      }
    }
  }
  for (const Reader reader : {kInputReader, kWeightReader}) {
    for (ScalePort& port = ScalesOf(reader); port.next_word() != hardware::kNeverDone;) {
      const auto at = static_cast<int64_t>(port.next_word());
      if (port.TakeWord()) fills_[reader].Scales(at);
    }
    fills_[reader].Join(machine_.arrived);
  }
}

// kiln_operand_buffer.sv: a scale that is not the last of its word is taken at once; codes with
// block scales are taken together with their last scale.
void SimulatedMemory::TakeOperands() {
  ReadPort& codes = reads_[kOperandReader];
  ScalePort& scales = ScalesOf(kOperandReader);
  for (;;) {
    while (scales.next_word() != hardware::kNeverDone && !scales.next_tag())
      scales.TakeWord(scales.next_word());
    if (codes.next_word() == hardware::kNeverDone) return;
    uint64_t at = codes.next_word();
    if (codes.next_tag().scaled) {
      if (scales.next_word() == hardware::kNeverDone) return;
      at = std::max(at, scales.next_word());
      scales.TakeWord(at);
    }
    const Arrival arrival = codes.TakeWord(at);
    if (arrival.of != Arrival::Of::kNothing) machine_.arrived(arrival, static_cast<int64_t>(at));
  }
}

bool SimulatedMemory::busy() const {
  const auto works = [](const auto& port) { return port.busy(); };
  const auto asks = [](const Asked& asked) { return asked.handle != nullptr; };
  return std::ranges::any_of(asked_, asks) || machine_.wants_program(program_words_) ||
         std::ranges::any_of(reads_, works) || std::ranges::any_of(scale_reads_, works) ||
         output_.busy() || scale_output_.busy() || lanes_.busy() || operands_.busy();
}

void SimulatedMemory::At(int64_t cycle) {
  const auto now = static_cast<uint64_t>(cycle);
  Accept(cycle);
  lanes_.Step(cycle);
  for (ReadPort& port : reads_) port.Sample(now);
  output_.Sample(now);
  for (ScalePort& port : scale_reads_) port.Sample(now);
  scale_output_.Sample(now);
  TakeWords();
  TakeOperands();
  if (machine_.running() && (busy() || !simulator_.idle())) simulator_.AtEndOf(cycle + 1, this);
}

}  // namespace kiln::systolic
