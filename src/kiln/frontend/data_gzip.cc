// Unpacks gzip files with zlib, within a budget.
#include <zlib.h>

#include <algorithm>

#include "kiln/frontend/data_readers.h"

namespace kiln::data {
namespace {

// A zlib stream that ends with its scope.
struct Inflater {
  z_stream stream = {};
  bool ok = inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK;  // 16: zlib must find a gzip wrapper
  Inflater() = default;
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ok) inflateEnd(&stream);
  }
};

}  // namespace

bool IsGzip(std::string_view bytes) {
  return bytes.size() >= 18 && bytes[0] == '\x1f' && bytes[1] == '\x8b' && bytes[2] == '\x08';
}

// The output grows by doubling, because gzip does not state a reliable size.
StatusOr<std::string> Gunzip(std::string_view bytes, std::string_view source, uint64_t max_bytes) {
  Inflater inflater;
  if (!inflater.ok) return absl::ResourceExhaustedError("zlib could not start");
  // zlib counts in 32 bits, so it gets the data in pieces.
  constexpr size_t kPiece = size_t{1} << 30;
  std::string out;
  size_t in = 0, filled = 0;
  while (true) {
    if (filled == out.size()) {
      if (filled > max_bytes) {
        return ErrorAt(source, "", "unpacks to more than " + std::to_string(max_bytes) + " bytes",
                       "split it");
      }
      // Allows one byte more than the budget, to distinguish a stream of exactly that size from a
      // longer one.
      out.resize(std::min<size_t>(std::max<size_t>(filled * 2, 1 << 16), max_bytes + 1));
    }
    const size_t in_now = std::min(bytes.size() - in, kPiece),
                 out_now = std::min(out.size() - filled, kPiece);
    inflater.stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + in));
    inflater.stream.avail_in = static_cast<uInt>(in_now);
    inflater.stream.next_out = reinterpret_cast<Bytef*>(out.data() + filled);
    inflater.stream.avail_out = static_cast<uInt>(out_now);
    const int code = inflate(&inflater.stream, Z_NO_FLUSH);
    in += in_now - inflater.stream.avail_in;
    filled += out_now - inflater.stream.avail_out;
    // A gzip file may consist of several members; the next one continues the data.
    if (code == Z_STREAM_END) {
      // Bytes after the last member are padding.
      if (!IsGzip(bytes.substr(in))) break;
      if (inflateReset(&inflater.stream) != Z_OK)
        return ErrorAt(source, "", "damaged gzip data", "fetch it again");
    } else if (code == Z_BUF_ERROR ||
               (code == Z_OK && in == bytes.size() && inflater.stream.avail_out > 0)) {
      return ErrorAt(source, "",
                     "gzip data is cut off after " + std::to_string(bytes.size()) + " bytes",
                     "fetch it again");
    } else if (code != Z_OK) {
      return ErrorAt(source, "byte " + std::to_string(in), "damaged gzip data", "fetch it again");
    }
  }
  if (filled > max_bytes) {
    return ErrorAt(source, "", "unpacks to more than " + std::to_string(max_bytes) + " bytes",
                   "split it");
  }
  out.resize(filled);
  out.shrink_to_fit();
  return out;
}

}  // namespace kiln::data
