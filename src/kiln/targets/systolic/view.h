// Strided views of tensors in the machine's memory. Data movement that only renames places (transposition, slicing,
// reshaping, broadcasting) is done here, on strides, and costs no cycle.
#ifndef KILN_TARGETS_SYSTOLIC_VIEW_H_
#define KILN_TARGETS_SYSTOLIC_VIEW_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"
#include "kiln/targets/systolic/isa.h"

namespace kiln::systolic {

// How a value stands in memory.
struct Encoding {
  ElementType type = ElementType::kFloat32;  // of the graph's value
  Element element = Element::kFloat32;
  Format format = {};  // of the codes or numbers; no name: fp32
  int bytes = 4;       // of an element
  // Value = scale * (code - zero_point), or scale * value of the code (kInput, kWeight).
  float scale = 1;
  int32_t zero_point = 0;
  int32_t low = 0, high = 0;
  // Block scales along an axis of the value; 0: none.
  int block_size = 0;
  int block_axis = -1;
  Format scale_format = {};
  // The annotation of a value in a format that no unit of the machine writes. It stands in fp32; whoever writes it on
  // the host rounds it.
  std::shared_ptr<const Quantisation> foreign;

  bool is_float() const { return element == Element::kFloat32 || element == Element::kVector; }
  bool blocked() const { return block_size > 0; }
  // The same bits mean the same values, the axis of block scales aside.
  bool SameCodes(const Encoding& other) const;
};

// The encoding that a value's annotation asks for; the vector format without one. Unsigned codes of up to 8 bits stand
// in a signed byte, less half their range, zero point included: the same values in codes that the array takes. What the
// design point cannot hold as codes is `foreign`. Error, naming the value: an element type that no memory element
// holds.
StatusOr<Encoding> EncodingOf(const Value& value, const Config& config);
// Of values without annotation.
Encoding VectorEncoding(const Config& config);

// Where the scales of a view's blocks stand. Scale of element i along `axis`: index i / block_size.
struct BlockView {
  int axis = -1;
  int buffer = -1;
  int64_t offset = 0;
  std::vector<int64_t>
      strides;  // bytes, one an axis of the view; along `axis` from a block to the next
};

struct View {
  int buffer = -1;
  int64_t offset = 0;  // bytes, of element (0, ..., 0)
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // bytes; 0 where the view repeats
  Encoding encoding;
  BlockView blocks;  // of encoding.blocked()

  int rank() const { return static_cast<int>(shape.size()); }
  int64_t elements() const;
  bool blocked() const { return blocks.axis >= 0; }
  // Whether a value of this encoding may be this view.
  bool Holds(const Encoding& other) const {
    return encoding.SameCodes(other) && (!blocked() || blocks.axis == other.block_axis);
  }
};

bool SamePlaces(const View& a, const View& b);

// Row-major without gaps; with block scales their axis is the innermost one in memory. `scales` is the buffer of the
// scales.
View DenseView(int buffer, int scales, const Shape& shape, const Encoding& encoding);
// Bytes of the scales of a dense view.
int64_t ScaleBytes(const Shape& shape, const Encoding& encoding);
bool IsDense(const View& view);

// Axis i of the result is axis perm[i].
View Transposed(const View& view, std::span<const int64_t> perm);
// Elements start, start + step, ... (count of them) of an axis. Along block scales: only where CanSlice.
View Sliced(const View& view, int axis, int64_t start, int64_t step, int64_t count);
bool CanSlice(const View& view, int axis, int64_t start, int64_t step);
// The elements in row-major order under another shape of as many; nullopt when no strides can say it.
std::optional<View> Reshaped(const View& view, std::span<const int64_t> shape);
// Right-aligned to `shape` (ONNX broadcasting); the view's dimensions must be 1 or equal.
View Broadcast(const View& view, std::span<const int64_t> shape);

// A nest of loops that several views walk in step.
struct Loop {
  int64_t count = 1;
  std::vector<int64_t> strides;        // one a view, bytes
  std::vector<int64_t> scale_strides;  // of its block scales; 0 without
};
// A loop of one step.
inline Loop OneStep(size_t views) {
  return {1, std::vector<int64_t>(views, 0), std::vector<int64_t>(views, 0)};
}
// The loops over views of one shape, outermost first: axes of one element dropped, neighbours joined where every view
// allows. With `keep_last`, the last axis stays alone and is always there; block scales must lie along it.
std::vector<Loop> LoopsOver(std::span<const View* const> views, bool keep_last);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_VIEW_H_
