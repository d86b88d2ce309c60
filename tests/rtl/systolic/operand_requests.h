// The memory requests of a word of the vector unit: those of its slot in order, from the definition
// of the instruction (docs/systolic.md, "Slots"; isa.h, Window).
#ifndef KILN_TESTS_RTL_SYSTOLIC_OPERAND_REQUESTS_H_
#define KILN_TESTS_RTL_SYSTOLIC_OPERAND_REQUESTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kiln/hardware/axi_port.h"
#include "tests/rtl/systolic/vector_command.h"
#include "tests/rtl/systolic/word_list.h"

namespace kiln::rtl {

enum class Access { kDense, kBroadcast, kStrided };  // access_t

// One request, with the scales that are read with it.
struct OperandRequest {
  size_t operand = 0;
  Access access = Access::kDense;
  uint64_t address = 0;
  int64_t bytes = 0, beats = 0;
  int64_t lane = 0;  // kStrided
  bool first_place = true, last_of_operand = false, last_of_word = false;
  std::vector<uint64_t> scales;  // their addresses, that of the first lanes first

  std::vector<uint8_t> Tag(uint64_t place) const {  // operand_tag_t
    BitString tag;
    tag.Append(8, place);
    tag.Append(2, operand);
    tag.Append(2, static_cast<uint64_t>(access));
    tag.Append(8, static_cast<uint64_t>(lane));
    tag.Append(1, first_place);
    tag.Append(1, last_of_operand);
    tag.Append(1, last_of_word);
    return tag.Bytes();
  }
};

// The work of a word on the operand port.
struct WordReads {
  bool nothing = false;       // the window of operand 0 has no place in the image,
  bool nothing_last = false;  // and the word reads nothing else
  int64_t search = 0;         // cycles on the way to the window's first place
  std::vector<OperandRequest> requests;
};

class OperandReads {
 public:
  OperandReads(const systolic::Instruction& instruction, const systolic::Config& config)
      : program_(instruction.vector), config_(config) {}

  bool Windowed(size_t pass, size_t operand) const {
    return pass == 0 && operand == 0 && program_.window.combine != systolic::Combine::kNone;
  }

  WordReads Of(const ListedWord& word) const {
    WordReads reads;
    std::vector<size_t> operands;
    for (size_t i = 0; i < program_.operands.size(); ++i) {
      if (systolic::PassReads(program_, word.pass, i)) operands.push_back(i);
    }
    for (const size_t i : operands) {
      const size_t before = reads.requests.size();
      if (Windowed(word.pass, i)) {
        Window(word, &reads);
      } else {
        Place(word, i, 0, 0, true, &reads);
      }
      const bool last = i == operands.back();
      if (reads.requests.size() == before) {
        reads.nothing = true;
        reads.nothing_last = last;
        continue;
      }
      reads.requests.back().last_of_operand = true;
      reads.requests.back().last_of_word = last;
    }
    return reads;
  }

 private:
  Access AccessOf(const systolic::Stream& stream) const {
    if (stream.element_stride == 0) return Access::kBroadcast;
    return stream.element_stride == systolic::BytesOf(stream.element, config_) ? Access::kDense
                                                                               : Access::kStrided;
  }

  // Adds the requests of one operand of a word. `offset` and `scale_offset` are those of the
  // window's position.
  void Place(const ListedWord& word, size_t operand, int64_t offset, int64_t scale_offset,
             bool first, WordReads* reads) const {
    const systolic::Stream& stream = program_.operands[operand];
    const int64_t element = systolic::BytesOf(stream.element, config_);
    OperandRequest request;
    request.operand = operand;
    request.access = AccessOf(stream);
    request.first_place = first;
    for (int64_t lane = 0; lane < (request.access == Access::kStrided ? word.lanes : 1); ++lane) {
      request.lane = lane;
      request.address =
          (word.address[operand] + static_cast<uint64_t>(offset + lane * stream.element_stride)) &
          kAddressMask;
      request.bytes = request.access == Access::kDense ? word.lanes * element : element;
      request.beats = BeatsOf(request.address, request.bytes, config_.operand_port_bytes);
      for (int64_t i = 0; stream.blocks.present && i * config_.block_size < word.lanes; ++i) {
        const int64_t at = scale_offset + i * config_.scale_format.bytes();
        request.scales.push_back((word.scale[operand] + static_cast<uint64_t>(at)) & kAddressMask);
      }
      reads->requests.push_back(request);
    }
  }

  void Window(const ListedWord& word, WordReads* reads) const {
    const systolic::Window& w = program_.window;
    const systolic::BlockScales& blocks = program_.operands[0].blocks;
    bool first = true;
    for (int64_t ky = 0; ky < w.window_y; ++ky) {
      const int64_t y = word.window_y + ky * w.dilation_y;
      for (int64_t kx = 0; kx < w.window_x; ++kx) {
        const int64_t x = word.window_x + kx * w.dilation_x;
        if (y < 0 || y >= w.height || x < 0 || x >= w.width) continue;
        Place(word, 0, y * w.row_stride + x * w.column_stride,
              y * blocks.row_stride + x * blocks.column_stride, first, reads);
        first = false;
      }
    }
    reads->search = std::max(PlacesBefore(word.window_y, w.dilation_y),
                             PlacesBefore(word.window_x, w.dilation_x));
  }
  // Under a dilated window, positions before the image are skipped one by one.
  static int64_t PlacesBefore(int64_t origin, int64_t dilation) {
    return dilation == 1 || origin >= 0 ? 0 : (-origin + dilation - 1) / dilation;
  }

  const systolic::VectorProgram& program_;
  const systolic::Config& config_;
};

}  // namespace kiln::rtl

#endif  // KILN_TESTS_RTL_SYSTOLIC_OPERAND_REQUESTS_H_
