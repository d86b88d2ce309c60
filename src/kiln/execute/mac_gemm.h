// Computes sums of products in the order and with the roundings of numerics/mac.h, for matrices and
// convolutions, with the fastest kernel that gives those bits. Functional levels
// use it for every format that int8_gemm.h does not serve.
//
// As in int8_gemm.h, a convolution runs without im2col: the image is stored once, with its padding,
// as operands of the kernel (StoreOperands), and output pixel p reads element r of the reduction at
// places[p] + order.offsets[r].
//
//   kernel     serves                                                   operands of the image
//   float      operands and sums that fp32 arithmetic can round exactly fp32 values
//   table      psums of at most 16 bits, by one look-up per step        fp32 values
//   integer    integer psums of operands that fit int16                 int8, biased int8 or int16
//                                                                       (the fastest)
//   quire      exact sums that fit 64 or 128 bits                       fixed point, 32 or 64 bits
//   scalar     everything else, by the definition; slow                 codes
#ifndef KILN_EXECUTE_MAC_GEMM_H_
#define KILN_EXECUTE_MAC_GEMM_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "kiln/numerics/mac.h"
#include "kiln/support/cpu.h"

namespace kiln {

// The reduction in the order in which the machine computes it.
struct MacOrder {
  std::vector<int64_t> offsets;  // of element r, in operands from the pixel's position
  // Elements of each row tile, at least 1 each; their sum is offsets.size().
  std::vector<int64_t> tile_sizes;
  // of each row tile's scale, from the pixel's scale position; empty unless rule.scaled
  std::vector<int64_t> scale_offsets;
};

// The weights of one matrix, packed in the order in which a kernel reads them.
class MacWeights {
 public:
  virtual ~MacWeights() = default;
  int64_t columns() const { return columns_; }
  // Columns rounded up as the kernel needs: the least length of a row of results.
  int64_t padded_columns() const { return padded_columns_; }

  // The pixels of one multiplication; indices count operands of the image and its scales.
  struct Pixels {
    const int64_t* places;        // index of each pixel's first operand
    const int64_t* scale_places;  // index of each pixel's first scale; null unless rule.scaled
    int64_t count;
  };
  // Computes results p < pixels.count, n < columns() at out[p * out_stride + n], 4 bytes each:
  // int32 if rule.integer_result(), otherwise fp32 with NaN as 0x7fc00000. Entries up to
  // padded_columns() may be overwritten; out_stride >= padded_columns().
  //   image         operands, followed by kMacImageSlack bytes of slack
  //   scales        of the image's blocks, fp32; pixels.scale_places[p] is the index of pixel p's
  //                 first scale. Null unless rule.scaled.
  // Safe to call from several threads at once.
  virtual void Multiply(const void* image, const float* scales, const Pixels& pixels, void* out,
                        int64_t out_stride) const = 0;

 protected:
  MacWeights(int64_t columns, int64_t padded_columns)
      : columns_(columns), padded_columns_(padded_columns) {}

 private:
  int64_t columns_, padded_columns_;
};

// Bytes that kernels may read after the last operand of an image. No result depends on them.
inline constexpr int64_t kMacImageSlack = 64;

// The kernel for one rule on one processor level. Stores images as operands and packs weights.
class MacKernel {
 public:
  virtual ~MacKernel() = default;
  // Returns the fastest kernel for the rule. The rule must have no fault (FindMacFault).
  static std::unique_ptr<const MacKernel> Create(CpuLevel level, const MacRule& rule);

  // Returns the rule whose bits the kernel computes.
  const MacRule& rule() const { return rule_; }
  virtual std::string_view name() const = 0;  // the table's first column
  // Bytes of one operand of an image.
  virtual int operand_bytes() const = 0;
  // Converts `count` codes in memory (codec.h) of the input format to operands. The ranges must not
  // overlap.
  virtual void StoreOperands(const void* codes, int64_t count, void* operands) const = 0;
  // Writes `count` copies of the operand of one code, such as padding.
  void FillOperands(uint32_t code, int64_t count, void* operands) const;

  // Packs the weights of one matrix. A reduction has at most 2^28 elements.
  //   codes   [order.offsets.size()][columns] in memory, of the weight format
  //   scales  [order.tile_sizes.size()][columns]; null unless rule.scaled
  virtual std::unique_ptr<const MacWeights> Pack(const MacOrder& order, int64_t columns,
                                                 const void* codes, const float* scales) const = 0;

 protected:
  explicit MacKernel(const MacRule& rule) : rule_(rule) {}

 private:
  MacRule rule_;
};

}  // namespace kiln

#endif  // KILN_EXECUTE_MAC_GEMM_H_
