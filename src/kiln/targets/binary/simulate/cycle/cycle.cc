// The machine around the stages: stream registers, the dispatch of beats, and the order in which
// results leave.

#include "kiln/targets/binary/simulate/cycle/cycle.h"

#include <memory>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/hardware/stream_memory_model.h"
#include "kiln/targets/binary/isa/derived.h"
#include "kiln/targets/binary/simulate/cycle/stage.h"
#include "kiln/targets/run/unit_spans.h"

namespace kiln::binary {
namespace {

constexpr int64_t kMostQuietCycles = 100000;

// A register stage of a stream (kiln_axi_stream_register): two places.
class StreamRegister {
 public:
  bool in_ready() const { return !skid_; }
  bool out_valid() const { return out_; }
  void Clock(bool in_valid, bool out_ready) {
    const bool free = !out_ || out_ready, skid = skid_;
    if (free) out_ = skid || in_valid;
    skid_ = !free && (skid || in_valid);
  }

 private:
  bool out_ = false, skid_ = false;
};

class Machine {
 public:
  Machine(const BlockProgram& program, std::span<const int32_t> records,
          const std::optional<hardware::AxiTiming>& memory)
      : program_(program),
        config_(program.config),
        records_(records),
        first_(config_.channels(0) / config_.beat_codes()),
        spans_(2 + static_cast<size_t>(config_.stages)) {
    load_beats_ = LoadBeats(program);
    const StageProgram& first = program.stages[0];
    pixels_ = int64_t{first.width} * first.height;
    beats_in_ = load_beats_ + 1 + pixels_ * program.record_beats;
    for (size_t i = 0; i < program.stages.size(); ++i) {
      stages_.push_back(std::make_unique<CycleStage>(program, static_cast<int>(i)));
      if (i == 0) continue;
      packs_.emplace_back(config_.channels(static_cast<int>(i)) /
                          config_.columns(static_cast<int>(i) - 1));
    }
    result_.results.resize(stages_.size());
    busy_.resize(stages_.size());
    if (memory.has_value()) PutBehind(*memory);
  }

  StatusOr<CycleResult> Run() {
    const int64_t beats_out = BeatsOut(program_);
    int64_t cycle = 0, sent = 0, received = 0, quiet = 0;
    for (; received < beats_out || (memory_.has_value() && memory_->busy()); ++cycle) {
      quiet = quiet + 1;
      const bool offers = memory_.has_value() ? memory_->offers(0) : sent < beats_in_;
      const bool ready = source_.in_ready(), sends = offers && ready;
      const bool leaves = sink_.out_valid();
      // The number of the stage is in the last byte of the beat.
      const size_t beat = static_cast<size_t>((received + 1) * config_.beat_bytes - 1);
      const size_t stage = leaves ? result_.beats[beat] : 0;
      const bool arrives = leaves && (!memory_.has_value() || memory_->takes(stage));
      const bool taken = Step(arrives);
      source_.Clock(offers, taken);
      sent += sends ? 1 : 0;
      if (sends) spans_.Work(0, cycle, cycle + 1);
      if (arrives) spans_.Work(1, cycle, cycle + 1);
      for (size_t i = 0; i < stages_.size(); ++i) {
        const int64_t busy = stages_[i]->busy_cycles();
        if (busy > std::exchange(busy_[i], busy))
          spans_.Work(static_cast<int>(2 + i), cycle, cycle + 1);
      }
      if (arrives) {
        result_.beat_cycles.push_back(cycle);
        ++received;
      }
      if (memory_.has_value()) {
        if (memory_->answers()) quiet = 0;
        memory_->Clock(ready ? 1 : 0, leaves ? uint64_t{1} << stage : 0);
      }
      if (sends || arrives || taken || moved_) quiet = 0;
      if (quiet > kMostQuietCycles)
        return absl::InternalError(
            fmt::format("the machine waits forever from cycle {} on", cycle - kMostQuietCycles));
    }
    SetTrace(memory_.has_value() ? memory_->cycles() : cycle, sent, received);
    return std::move(result_);
  }

 private:
  void PutBehind(const hardware::AxiTiming& memory) {
    const int bytes = config_.beat_bytes;
    std::vector<hardware::StreamPlace> places = {{static_cast<uint64_t>(beats_in_), bytes}};
    for (const size_t beats : BeatsOutByStage(program_)) places.push_back({beats, bytes});
    hardware::PlaceStreams(&places);
    memory_.emplace(memory, places, 1);
  }

  // Simulates a cycle of everything between the registers. Returns whether the dispatch takes the
  // beat that the first register offers. `arrives`: the beat that the last one offers is taken.
  bool Step(bool arrives) {
    // The dispatch: writes, then the header of the run, then records.
    const bool valid = source_.out_valid();
    const int64_t record_beats = program_.record_beats;
    const bool writes = taken_ < load_beats_, starts = taken_ == load_beats_ && valid;
    const int64_t in_run = taken_ - load_beats_ - 1;
    const int64_t beat = in_run >= 0 ? in_run % record_beats : 0;
    const bool is_record = !writes && in_run >= 0 && valid;
    bool ready = beat >= program_.input_beats || first_.in_ready();
    std::vector<bool> skips(stages_.size());
    for (size_t i = 0; i < stages_.size(); ++i) {
      const StageProgram& s = program_.stages[i];
      const int64_t end = s.skip.first_code + s.channels(config_, static_cast<int>(i)) - 1;
      skips[i] = s.has_skip && beat >= s.skip.first_code / config_.beat_codes() &&
                 beat <= end / config_.beat_codes();
      ready = ready && (!skips[i] || stages_[i]->skip_room());
    }
    const bool takes_beat = is_record && ready;
    std::vector<int32_t> codes;
    if (takes_beat) {
      const auto begin = records_.begin() + in_run * static_cast<int64_t>(config_.beat_codes());
      codes.assign(begin, begin + config_.beat_codes());
    }

    // The stream out takes from the last stage that has a result.
    int leaving = -1;
    for (size_t i = 0; i < stages_.size(); ++i) {
      if (stages_[i]->emit_valid()) leaving = static_cast<int>(i);
    }
    const bool sink_ready = sink_.in_ready(), leaves = leaving >= 0 && sink_ready;

    std::vector<CycleStage::Inputs> inputs(stages_.size());
    for (size_t i = 0; i < stages_.size(); ++i) {
      CyclePack& pack = PackOf(i);
      inputs[i].start = starts;
      if (pack.out_valid() && stages_[i]->in_ready()) inputs[i].word = &pack.word();
      if (takes_beat && skips[i]) inputs[i].skip = &codes;
      inputs[i].emit_taken = leaves && leaving == static_cast<int>(i);
      if (i + 1 < stages_.size())
        inputs[i].forward_taken = stages_[i]->forward_valid() && packs_[i].in_ready();
    }
    if (leaves) {
      const std::vector<int32_t>& word = stages_[static_cast<size_t>(leaving)]->emit().codes;
      auto& to = result_.results[static_cast<size_t>(leaving)];
      to.insert(to.end(), word.begin(), word.end());
      AppendResult(config_, leaving, word, &result_.beats);
    }
    moved_ = false;
    std::vector<ResultWord> forwarded(stages_.size());
    for (size_t i = 0; i + 1 < stages_.size(); ++i) {
      if (inputs[i].forward_taken) forwarded[i] = stages_[i]->forward();
    }
    std::vector<bool> words(stages_.size());
    for (size_t i = 0; i < stages_.size(); ++i) {
      words[i] = inputs[i].word != nullptr;
      stages_[i]->Clock(inputs[i]);
      moved_ = moved_ || stages_[i]->moved();
    }
    first_.Clock(takes_beat && beat < program_.input_beats ? &codes : nullptr, false, words[0]);
    for (size_t i = 0; i + 1 < stages_.size(); ++i) {
      packs_[i].Clock(inputs[i].forward_taken ? &forwarded[i].codes : nullptr, forwarded[i].last,
                      words[i + 1]);
    }
    sink_.Clock(leaving >= 0, arrives);
    const bool taken = valid && (writes || starts || takes_beat);
    taken_ += taken ? 1 : 0;
    return taken;
  }

  CyclePack& PackOf(size_t stage) { return stage == 0 ? first_ : packs_[stage - 1]; }

  void SetTrace(int64_t cycles, int64_t sent, int64_t received) {
    Trace& trace = result_.trace;
    trace.cycles = cycles;
    spans_.MoveTo(0, &trace);
    trace.units.resize(2 + static_cast<size_t>(config_.stages));
    trace.units[0].name = "in";
    trace.units[0].busy_cycles = sent;
    trace.units[0].bytes_read = sent * config_.beat_bytes;
    trace.units[1].name = "out";
    trace.units[1].busy_cycles = received;
    trace.units[1].bytes_written = received * config_.beat_bytes;
    trace.units[0].transfers = trace.units[1].transfers = true;
    // Units and queues of all stages, so that traces of all programs can be joined.
    for (int i = 0; i < config_.stages; ++i) {
      const auto number = static_cast<size_t>(i);
      const CycleStage* stage = number < stages_.size() ? stages_[number].get() : nullptr;
      UnitTrace& unit = trace.units[2 + number];
      unit.name = fmt::format("stage {}", i);
      if (stage != nullptr) {
        result_.lookups += stage->lookups();
        unit.busy_cycles = stage->busy_cycles();
        unit.stall_cycles["no tables"] = stage->no_tables();
        unit.stall_cycles["results"] = stage->results_full();
      }
      const auto add = [&](std::string name, int from, int to, int64_t depth, int64_t highest) {
        trace.queues.push_back(
            {.name = std::move(name), .from = from, .to = to, .depth = depth, .highest = highest});
      };
      const int at = 2 + i;
      add(fmt::format("skip {}", i), 0, at, config_.skip_beats,
          stage == nullptr ? 0 : stage->skip_highest());
      if (i + 1 < config_.stages) {
        add(fmt::format("stage {} to stage {}", i, i + 1), at, at + 1, kResultQueueWords,
            stage == nullptr ? 0 : stage->forward_highest());
      }
      add(fmt::format("stage {} to out", i), at, 1, kResultQueueWords,
          stage == nullptr ? 0 : stage->emit_highest());
    }
  }

  const BlockProgram& program_;
  const Config& config_;
  const std::span<const int32_t> records_;
  int64_t load_beats_ = 0, pixels_ = 0, beats_in_ = 0, taken_ = 0;
  StreamRegister source_, sink_;
  CyclePack first_;
  UnitSpans spans_;
  std::vector<int64_t> busy_;     // busy cycles of each stage, until the cycle before
  std::vector<CyclePack> packs_;  // in front of the second stage, and of the third
  std::vector<std::unique_ptr<CycleStage>> stages_;
  bool moved_ = false;
  std::optional<hardware::StreamMemoryModel> memory_;
  CycleResult result_;
};

}  // namespace

StatusOr<CycleResult> RunCycle(const BlockProgram& program, std::span<const int32_t> records,
                               const std::optional<hardware::AxiTiming>& memory) {
  return Machine(program, records, memory).Run();
}

}  // namespace kiln::binary
