// Steps the lanes of the vector unit and the ports, register by register as in the RTL.
#include "kiln/targets/systolic/simulate/cycle/cycle_memory.h"

#include <algorithm>

#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/isa/timing.h"

namespace kiln::systolic {

VectorLanes::VectorLanes(hardware::Simulator& simulator, const Config& config, WritePort& port)
    : simulator_(simulator),
      port_(port),
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
    depth_ = word.depth;
    if (word.to_memory) {
      ++words_issued_;
      lanes_.push_back({advances_ + word.depth, std::move(word.writes)});
    }
  }
  bool word_ends = false;
  if (issue || !free_) {
    since_ = issue ? 1 : since_ + (advance_ ? 1 : 0);
    word_ends = !slots_.empty() && slots_.front().end <= cycle && since_ >= slots_.front().length;
    if (word_ends) slots_.pop_front();
    free_ = word_ends;
  }
  const bool block_ends = word_ends && last_of_block_;
  // kiln_block_order.sv
  if (block_ends && leaving_ <= depth_) {
    leaving_ = depth_;
  } else if (advance_ && leaving_ > 0) {
    --leaving_;
  }
  if (!block_ends) return;
  end_advances_ = advances_;
  end_words_ = words_issued_;
  Resume(block_waiter_, cycle + 1);
}

void VectorLanes::Write(int64_t cycle) {
  const bool arrives = advance_ && !lanes_.empty() && lanes_.front().leaves == advances_;
  const bool writer_free = next_write_ == writing_.size();
  const size_t queued = output_.size();
  if (arrives) {
    output_.push_back(std::move(lanes_.front().writes));
    lanes_.pop_front();
  }
  if (writer_free && !output_.empty()) {
    writing_ = std::move(output_.front());
    output_.pop_front();
    next_write_ = 0;
  }
  const auto now = static_cast<uint64_t>(cycle);
  if (next_write_ < writing_.size() && port_.ready(now)) {
    const Request& request = writing_[next_write_++];
    port_.Request(now, request.address, static_cast<uint64_t>(request.bytes),
                  next_write_ == writing_.size());
  }
  if (advance_) ++advances_;
  advance_ = advance_soon_;
  advance_soon_ = queued + 3 <= kOutputWords;
}

void VectorLanes::Finish(int64_t cycle) {
  if (port_.next_done() == static_cast<uint64_t>(cycle) && port_.TakeDone()) ++words_written_;
  if (ended_.empty() || advances_ < ended_.front().deadline ||
      words_written_ < ended_.front().words) {
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

SimulatedMemory::SimulatedMemory(hardware::Simulator& simulator, const Config& config,
                                 const hardware::AxiTiming& timing, uint64_t program,
                                 Machine machine)
    : simulator_(simulator),
      bus_(timing),
      reads_{
          ReadPort(bus_, config.instruction_bytes_per_cycle,
                   static_cast<size_t>(PrefetchWords(config))),
          ReadPort(bus_, config.input_port_bytes, static_cast<size_t>(OutstandingRequests(config))),
          ReadPort(bus_, config.weight_port_bytes,
                   static_cast<size_t>(OutstandingRequests(config))),
          ReadPort(bus_, config.operand_port_bytes,
                   static_cast<size_t>(OutstandingRequests(config)))},
      output_(bus_, config.output_port_bytes, static_cast<size_t>(OutstandingRequests(config))),
      lanes_(simulator, config, output_),
      program_(program),
      machine_(std::move(machine)) {}

void SimulatedMemory::At(int64_t cycle) {
  const auto now = static_cast<uint64_t>(cycle);
  ReadPort& program = reads_[kProgramReader];
  if (machine_.wants_program(program_words_) && program.ready(now)) {
    program.Request(now, program_ + static_cast<uint64_t>(program_words_++) * kInstructionWordBytes,
                    kInstructionWordBytes, {Arrival::Of::kProgramWord, 0});
  }
  lanes_.Step(cycle);
  for (ReadPort& port : reads_) port.Sample(now);
  output_.Sample(now);
  for (ReadPort& port : reads_) {
    for (; port.next_word() != hardware::kNeverDone;) {
      const auto at = static_cast<int64_t>(port.next_word());
      const Arrival arrival = port.TakeWord();
      if (arrival.of != Arrival::Of::kNothing) machine_.arrived(arrival, at);
    }
  }
  if (machine_.running()) simulator_.AtEndOf(cycle + 1, this);
}

}  // namespace kiln::systolic
