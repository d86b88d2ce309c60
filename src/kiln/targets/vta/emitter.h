// Instructions of one launch in the making, and the micro-ops that they run.
#ifndef KILN_TARGETS_VTA_EMITTER_H_
#define KILN_TARGETS_VTA_EMITTER_H_

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/vta/isa.h"
#include "kiln/targets/vta/memory_image.h"

namespace kiln::vta {

// Two loops with the steps of indices.
struct Loops {
  int64_t outer = 1, inner = 1;
  int64_t dst_outer = 0, dst_inner = 0;
  int64_t src_outer = 0, src_inner = 0;
  int64_t weight_outer = 0, weight_inner = 0;  // GEMM
};

// Rows between memory and a buffer on chip.
struct MovedRectangle {
  uint64_t address = 0;  // bytes
  int64_t sram = 0, rows = 1, columns = 1, stride = 0;
};

struct Launch {
  uint64_t address = 0;       // of the first instruction
  uint64_t uops_address = 0;  // of the first micro-op
  std::vector<Instruction> instructions;
  std::vector<Uop> uops;
};

class Emitter {
 public:
  explicit Emitter(const Config& config) : config_(config), encoding_(config) {}

  void Load(Memory memory, const MovedRectangle& rectangle);
  void Store(const MovedRectangle& rectangle);
  void LoadZeros(int64_t accumulator, int64_t count);
  // Micro-ops that stand in the buffer already are not loaded twice. `part` of them is run.
  struct Part {
    size_t first = 0, last = 0;
  };
  void Gemm(std::span<const Uop> uops, Part part, const Loops& loops);
  void Reset(const Uop& uop, const Loops& loops);
  void Alu(AluOp op, std::span<const Uop> uops, const Loops& loops);
  void AluImmediate(AluOp op, std::span<const Uop> uops, const Loops& loops, int32_t immediate);
  void Nop(Stage stage) { instructions_.push_back(NopOf(stage)); }

  // The instruction emitted last, and the one that `mark` (size() before it) was followed by.
  size_t size() const { return instructions_.size(); }
  Instruction& last() { return instructions_.back(); }
  Instruction& operator[](size_t i) { return instructions_[i]; }

  // Those that stand in the buffer until here are loaded first, the others here.
  void LoadOtherUopsHere() { others_ = {instructions_.size(), uops_.size()}; }

  // Puts a load of the micro-ops in front and FINISH behind, and both into memory. Unimplemented: more micro-ops than
  // the buffer holds, or a field without room.
  StatusOr<Launch> Finish(MemoryImage* image);
  size_t uops() const { return uops_.size(); }

 private:
  Instruction LoadOfUops(uint64_t address, size_t first, size_t last) const;
  uint32_t Place(std::span<const Uop> uops);
  Instruction Compute(Opcode opcode, uint32_t begin, uint32_t end, const Loops& loops) const;

  const Config& config_;
  const Encoding encoding_;
  std::vector<Instruction> instructions_;
  std::vector<Uop> uops_;
  struct Mark {
    size_t instruction = 0, uop = 0;
  } others_;
  std::map<std::vector<uint32_t>, uint32_t> places_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_EMITTER_H_
