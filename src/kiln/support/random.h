// Small deterministic random number generator. The n-th draw of a seed is a pure function of both,
// so that parallel code needs no shared state and results are the same on every machine.
#ifndef KILN_SUPPORT_RANDOM_H_
#define KILN_SUPPORT_RANDOM_H_

#include <cstdint>

namespace kiln {

// Returns SplitMix64's output function of x: a bijection that spreads consecutive inputs over all
// 64 bits (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
inline uint64_t MixBits(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A SplitMix64-style generator over MixBits; satisfies UniformRandomBitGenerator.
class Random {
 public:
  using result_type = uint64_t;
  // Mixing the seed keeps generators with consecutive seeds apart.
  explicit Random(uint64_t seed) : state_(MixBits(seed)) {}
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }
  // Returns the next 64 bits.
  uint64_t operator()() { return MixBits(state_ += 0x9e3779b97f4a7c15u); }
  // Returns a uniform value in [0, bound); bound > 0. Scales by multiplication instead of modulo;
  // the bias of at most bound / 2^64 is accepted.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>((*this)()) * bound) >> 64);
  }
  // Returns a uniform value in [low, high].
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Below(static_cast<uint64_t>(high - low) + 1));
  }
  // Returns a uniform multiple of 2^-53 in [0, 1).
  double Uniform() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }
  // Returns a uniform value from low to high.
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }

 private:
  uint64_t state_;
};

}  // namespace kiln

#endif  // KILN_SUPPORT_RANDOM_H_
