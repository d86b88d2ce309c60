// Unpacks gzip files with zlib, within a budget.
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "kiln/frontend/data_readers.h"

namespace kiln::data {
namespace {

// A decompressor of gzip data with several members, which ends with its scope.
class Inflater {
 public:
  explicit Inflater(std::string_view bytes, std::string_view source)
      : bytes_(bytes), source_(source) {
    // 16: zlib must find a gzip wrapper
    started_ = inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK;
  }
  // Continues where `other` is.
  Inflater(const Inflater& other)
      : bytes_(other.bytes_), source_(other.source_), read_(other.read_), ended_(other.ended_) {
    auto* from = const_cast<z_stream*>(&other.stream_);
    started_ = inflateCopy(&stream_, from) == Z_OK;
  }
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (started_) inflateEnd(&stream_);
  }

  bool started() const { return started_; }
  // Returns whether all members have been unpacked.
  bool ended() const { return ended_; }
  size_t read() const { return read_; }  // bytes that have been consumed
  // Unpacks at most `room` bytes to `to` and returns their number. Errors: damaged or truncated.
  StatusOr<size_t> Unpack(char* to, size_t room);

 private:
  std::string_view bytes_, source_;
  z_stream stream_ = {};
  size_t read_ = 0;
  bool started_ = false, ended_ = false;
};

StatusOr<size_t> Inflater::Unpack(char* to, size_t room) {
  // zlib counts in 32 bits, so it gets the data in pieces.
  constexpr size_t kPiece = size_t{1} << 30;
  const size_t in_now = std::min(bytes_.size() - read_, kPiece), out_now = std::min(room, kPiece);
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes_.data() + read_));
  stream_.avail_in = static_cast<uInt>(in_now);
  stream_.next_out = reinterpret_cast<Bytef*>(to);
  stream_.avail_out = static_cast<uInt>(out_now);
  const int code = inflate(&stream_, Z_NO_FLUSH);
  read_ += in_now - stream_.avail_in;
  const std::string source(source_);
  // A gzip file may consist of several members; the next one continues the data.
  if (code == Z_STREAM_END) {
    // Bytes after the last member are padding.
    ended_ = !IsGzip(bytes_.substr(read_));
    if (!ended_ && inflateReset(&stream_) != Z_OK)
      return ErrorAt(source, "", "damaged gzip data", "fetch it again");
  } else if (code == Z_BUF_ERROR ||
             (code == Z_OK && read_ == bytes_.size() && stream_.avail_out > 0)) {
    return ErrorAt(source, "",
                   "gzip data is cut off after " + std::to_string(bytes_.size()) + " bytes",
                   "fetch it again");
  } else if (code != Z_OK) {
    return ErrorAt(source, "byte " + std::to_string(read_), "damaged gzip data", "fetch it again");
  }
  return out_now - stream_.avail_out;
}

// Unpacks the rest without keeping it. Returns whether it has at most `most` bytes. Errors: those
// of Unpack.
StatusOr<bool> RestFits(Inflater rest, uint64_t most) {
  if (!rest.started()) return absl::ResourceExhaustedError("zlib could not start");
  std::vector<char> scratch(1 << 16);
  for (uint64_t size = 0; !rest.ended();) {
    KILN_ASSIGN_OR_RETURN(const size_t made, rest.Unpack(scratch.data(), scratch.size()));
    size += made;
    if (size > most) return false;
  }
  return true;
}

}  // namespace

bool IsGzip(std::string_view bytes) {
  return bytes.size() >= 18 && bytes[0] == '\x1f' && bytes[1] == '\x8b' && bytes[2] == '\x08';
}

// The output grows by doubling, because gzip does not state a reliable size. A file of a few
// megabytes can unpack to gigabytes: data that is large and compresses far better than images do is
// counted to its end before more memory is taken.
StatusOr<std::string> Gunzip(std::string_view bytes, std::string_view source,
                             const UnpackLimits& limits) {
  const uint64_t most = limits.Most(bytes.size());
  const auto too_much = [&] { return UnpacksTooMuch(source, "unpacks to", bytes.size(), limits); };
  constexpr size_t kUnsuspected = size_t{64} << 20, kUsualRatio = 32;
  Inflater inflater(bytes, source);
  if (!inflater.started()) return absl::ResourceExhaustedError("zlib could not start");
  std::string out;
  size_t filled = 0;
  bool counted = false;
  while (!inflater.ended()) {
    if (filled == out.size()) {
      if (filled > most) return too_much();
      if (!counted && filled >= kUnsuspected && filled / kUsualRatio > inflater.read()) {
        KILN_ASSIGN_OR_RETURN(const bool fits, RestFits(inflater, most - filled));
        if (!fits) return too_much();
        counted = true;
      }
      // Allows one byte more than the budget, to distinguish a stream of exactly that size from a
      // longer one.
      out.resize(std::min<size_t>(std::max<size_t>(filled * 2, 1 << 16), most + 1));
    }
    KILN_ASSIGN_OR_RETURN(const size_t made,
                          inflater.Unpack(out.data() + filled, out.size() - filled));
    filled += made;
  }
  if (filled > most) return too_much();
  out.resize(filled);
  out.shrink_to_fit();
  return out;
}

}  // namespace kiln::data
