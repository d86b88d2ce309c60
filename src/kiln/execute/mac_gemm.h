// Sums of products in the order and with the roundings of numerics/mac.h, for matrices and convolutions, by the fastest
// kernel that gives those bits.
//
// As in int8_gemm.h a convolution runs without im2col: the image stands in memory once, with its padding, as operands
// of the kernel (StoreOperands), and output pixel p sees element r of the reduction at pixels[p] + order.offsets[r].
//
//   kernel     when                                                        operands of the image
//   float      operands and sums that fp32 arithmetic can round exactly    fp32 values
//   table      psums of at most 16 bits by a look-up per step              fp32 values
//   integer    integer psums of operands that int16 holds                  int8, biased or wide as the processor likes
//   quire      exact sums that 64 or 128 bits hold                         fixed point, 32 or 64 bits
//   scalar     everything else, by the definition, slowly                  codes
#ifndef KILN_EXECUTE_MAC_GEMM_H_
#define KILN_EXECUTE_MAC_GEMM_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "kiln/numerics/mac.h"
#include "kiln/support/cpu.h"

namespace kiln {

// The reduction as the machine walks it.
struct MacOrder {
  std::vector<int64_t> offsets;  // of element r, from the pixel's own place, in operands
  std::vector<int64_t>
      tile_sizes;  // elements of each row tile, at least 1 each; they add up to offsets.size()
  std::vector<int64_t>
      scale_offsets;  // of each row tile's scale, from the pixel's scale place; empty unless rule.scaled
};

// Weights of one matrix in the order in which a kernel reads them.
class MacWeights {
 public:
  virtual ~MacWeights() = default;
  int64_t columns() const { return columns_; }
  int64_t padded_columns() const {
    return padded_columns_;
  }  // rows of results are at least this long

  // Results p < pixel_count, n < columns() at out[p * out_stride + n], 4 bytes each: int32 when rule.integer_result(),
  // else fp32, NaN as 0x7fc00000. Entries up to padded_columns() may be overwritten; out_stride >= padded_columns().
  //   image         operands, kMacImageSlack bytes of slack after the last one
  //   scales        of the image's blocks, fp32; scale_pixels[p] is pixel p's place among them. Null unless
  //   rule.scaled.
  // Safe from several threads at once.
  struct Pixels {
    const int64_t* places;        // operands
    const int64_t* scale_places;  // scales; null unless rule.scaled
    int64_t count;
  };
  virtual void Multiply(const void* image, const float* scales, const Pixels& pixels, void* out,
                        int64_t out_stride) const = 0;

 protected:
  MacWeights(int64_t columns, int64_t padded_columns)
      : columns_(columns), padded_columns_(padded_columns) {}

 private:
  int64_t columns_, padded_columns_;
};

// Kernels read up to this many bytes beyond the last operand of an image, and nothing depends on them.
inline constexpr int64_t kMacImageSlack = 64;

// The kernel for one rule on one processor level.
class MacKernel {
 public:
  virtual ~MacKernel() = default;
  // The rule must have no fault (FindMacFault).
  static std::unique_ptr<const MacKernel> Create(CpuLevel level, const MacRule& rule);

  const MacRule& rule() const { return rule_; }
  virtual std::string_view name() const = 0;  // first column of the table above
  virtual int operand_bytes() const = 0;
  // Turns `count` codes in memory (codec.h) of the input format into operands. The ranges must not overlap.
  virtual void StoreOperands(const void* codes, int64_t count, void* operands) const = 0;
  void FillOperands(uint32_t code, int64_t count, void* operands) const;

  // A reduction has at most 2^28 elements.
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
