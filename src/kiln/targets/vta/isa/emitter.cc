// Builds the instructions and micro-ops of a launch, stores each sequence of micro-ops once, and
// writes both to the memory image.

#include "kiln/targets/vta/isa/emitter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/check.h"
#include "kiln/targets/lower/refusal.h"

namespace kiln::vta {
namespace {

Instruction Move(Opcode opcode, Memory memory, const MovedRectangle& r, const Config& config) {
  const auto element = static_cast<uint64_t>(ElementBytes(memory, config));
  KILN_CHECK(r.address % element == 0);
  Instruction in;
  in.opcode = opcode;
  in.memory = memory;
  in.sram_base = static_cast<uint32_t>(r.sram);
  in.dram_base = static_cast<uint32_t>(r.address / element);
  in.y_size = static_cast<uint32_t>(r.rows);
  in.x_size = static_cast<uint32_t>(r.columns);
  in.x_stride = static_cast<uint32_t>(r.stride);
  return in;
}

}  // namespace

void Emitter::Load(Memory memory, const MovedRectangle& rectangle) {
  instructions_.push_back(Move(Opcode::kLoad, memory, rectangle, config_));
}

void Emitter::Store(const MovedRectangle& rectangle) {
  instructions_.push_back(Move(Opcode::kStore, Memory::kOutput, rectangle, config_));
}

// The load has one row of padding and no rows of data.
void Emitter::LoadZeros(int64_t accumulator, int64_t count) {
  Load(Memory::kAccumulator, {0, accumulator, 0, count, count});
  instructions_.back().y_pad_before = 1;
}

uint32_t Emitter::Place(std::span<const Uop> uops) {
  std::vector<uint32_t> words;
  for (const Uop& uop : uops) words.push_back(encoding_.EncodeUop(uop));
  const auto [at, added] = places_.emplace(std::move(words), static_cast<uint32_t>(uops_.size()));
  if (added) uops_.insert(uops_.end(), uops.begin(), uops.end());
  return at->second;
}

Instruction Emitter::Compute(Opcode opcode, uint32_t begin, uint32_t end,
                             const Loops& loops) const {
  Instruction in;
  in.opcode = opcode;
  in.uop_begin = begin;
  in.uop_end = end;
  in.outer = static_cast<uint32_t>(loops.outer);
  in.inner = static_cast<uint32_t>(loops.inner);
  // A loop of one iteration never uses its increment, which might not fit in the field.
  const auto step = [](int64_t count, int64_t size) {
    return count > 1 ? static_cast<uint32_t>(size) : 0;
  };
  in.dst_outer = step(loops.outer, loops.dst_outer);
  in.dst_inner = step(loops.inner, loops.dst_inner);
  in.src_outer = step(loops.outer, loops.src_outer);
  in.src_inner = step(loops.inner, loops.src_inner);
  in.weight_outer = step(loops.outer, loops.weight_outer);
  in.weight_inner = step(loops.inner, loops.weight_inner);
  return in;
}

void Emitter::Gemm(std::span<const Uop> uops, Part part, const Loops& loops) {
  const uint32_t place = Place(uops);
  instructions_.push_back(Compute(Opcode::kGemm, place + static_cast<uint32_t>(part.first),
                                  place + static_cast<uint32_t>(part.last), loops));
}

void Emitter::Reset(const Uop& uop, const Loops& loops) {
  const uint32_t place = Place({&uop, 1});
  instructions_.push_back(Compute(Opcode::kGemm, place, place + 1, loops));
  instructions_.back().reset = true;
}

void Emitter::Alu(AluOp op, std::span<const Uop> uops, const Loops& loops) {
  const uint32_t place = Place(uops);
  instructions_.push_back(
      Compute(Opcode::kAlu, place, place + static_cast<uint32_t>(uops.size()), loops));
  instructions_.back().alu = op;
}

void Emitter::AluImmediate(AluOp op, std::span<const Uop> uops, const Loops& loops,
                           int32_t immediate) {
  // The original's hardware descriptions read the accumulator operand at src, so src equals dst.
  std::vector<Uop> own(uops.begin(), uops.end());
  for (Uop& uop : own) uop.src = uop.dst;
  Loops same = loops;
  same.src_outer = loops.dst_outer;
  same.src_inner = loops.dst_inner;
  Alu(op, own, same);
  instructions_.back().use_immediate = true;
  instructions_.back().immediate = immediate;
}

Instruction Emitter::LoadOfUops(uint64_t address, size_t first, size_t last) const {
  const auto count = static_cast<int64_t>(last - first);
  return Move(Opcode::kLoad, Memory::kUop,
              {address + first * Config::kUopBytes, static_cast<int64_t>(first), 1, count, count},
              config_);
}

StatusOr<Launch> Emitter::Finish(MemoryImage* image) {
  if (std::ssize(uops_) > config_.uops()) {
    return ToHost(fmt::format("{} micro-ops, the buffer holds {}", uops_.size(), config_.uops()));
  }
  Launch launch;
  const uint64_t uops_at = launch.uops_address = image->Reserve(uops_.size() * Config::kUopBytes);
  if (others_.uop > 0) launch.instructions.push_back(LoadOfUops(uops_at, 0, others_.uop));
  const auto others = instructions_.begin() + static_cast<std::ptrdiff_t>(others_.instruction);
  launch.instructions.insert(launch.instructions.end(), instructions_.begin(), others);
  if (others_.uop < uops_.size())
    launch.instructions.push_back(LoadOfUops(uops_at, others_.uop, uops_.size()));
  launch.instructions.insert(launch.instructions.end(), others, instructions_.end());
  launch.instructions.emplace_back();  // FINISH
  for (const Instruction& in : launch.instructions) {
    if (const auto misfit = encoding_.FindMisfit(in)) return ToHost(*misfit);
  }
  launch.address = image->Reserve(launch.instructions.size() * kInstructionBytes);
  launch.uops = std::move(uops_);
  if (!image->has_bytes()) return launch;
  auto word_at = image->At(uops_at);
  for (const Uop& uop : launch.uops) {
    const uint32_t word = encoding_.EncodeUop(uop);
    std::memcpy(&*word_at, &word, sizeof(word));
    word_at += sizeof(word);
  }
  auto bytes_at = image->At(launch.address);
  for (const Instruction& in : launch.instructions) {
    const Encoding::Bytes word = encoding_.Encode(in);
    bytes_at = std::copy(word.begin(), word.end(), bytes_at);
  }
  return launch;
}

}  // namespace kiln::vta
