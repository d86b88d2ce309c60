// Builds the instructions of one launch and the micro-ops that they run. The compiler and the
// reader of GEMM vectors generate code with it.
#ifndef KILN_TARGETS_VTA_ISA_EMITTER_H_
#define KILN_TARGETS_VTA_ISA_EMITTER_H_

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/vta/isa/isa.h"
#include "kiln/targets/vta/isa/memory_image.h"

namespace kiln::vta {

// The two loops of a GEMM or ALU instruction: their counts and the increments of each index.
struct Loops {
  int64_t outer = 1, inner = 1;
  int64_t dst_outer = 0, dst_inner = 0;
  int64_t src_outer = 0, src_inner = 0;
  int64_t weight_outer = 0, weight_inner = 0;  // GEMM
};

// A rectangle that a load or store moves between memory and a buffer on chip.
struct MovedRectangle {
  uint64_t address = 0;  // byte address in memory, a multiple of the element's size
  int64_t sram = 0, rows = 1, columns = 1, stride = 0;
};

// A finished launch. Addresses are in bytes.
struct Launch {
  uint64_t address = 0;       // the first instruction
  uint64_t uops_address = 0;  // the first micro-op
  std::vector<Instruction> instructions;
  std::vector<Uop> uops;
};

// The instructions and micro-ops of a launch under construction. Each call appends an instruction
// without tokens; set them through last() or operator[].
class Emitter {
 public:
  explicit Emitter(const Config& config) : config_(config), encoding_(config) {}

  // Append a load or a store, or a load that sets `count` elements from `accumulator` on to zero by
  // padding, without reading memory.
  void Load(Memory memory, const MovedRectangle& rectangle);
  void Store(const MovedRectangle& rectangle);
  void LoadZeros(int64_t accumulator, int64_t count);
  // Append a GEMM, reset or ALU instruction. Micro-ops that the buffer already holds in this
  // sequence are not stored again. Gemm runs only `part` of the micro-ops.
  struct Part {
    size_t first = 0, last = 0;
  };
  void Gemm(std::span<const Uop> uops, Part part, const Loops& loops);
  void Reset(const Uop& uop, const Loops& loops);
  void Alu(AluOp op, std::span<const Uop> uops, const Loops& loops);
  void AluImmediate(AluOp op, std::span<const Uop> uops, const Loops& loops, int32_t immediate);
  void Nop(Stage stage) { instructions_.push_back(NopOf(stage)); }

  // The number of instructions so far, the last instruction, and instruction `i`.
  size_t size() const { return instructions_.size(); }
  Instruction& last() { return instructions_.back(); }
  Instruction& operator[](size_t i) { return instructions_[i]; }

  // Splits the load of micro-ops: those added so far are loaded at the start of the launch, later
  // ones at the current position.
  void LoadOtherUopsHere() { others_ = {instructions_.size(), uops_.size()}; }

  // Adds the loads of micro-ops and FINISH, and writes instructions and micro-ops to `image`.
  // Errors: Unimplemented if there are more micro-ops than the buffer holds, or if a value does not
  // fit in its field.
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

#endif  // KILN_TARGETS_VTA_ISA_EMITTER_H_
