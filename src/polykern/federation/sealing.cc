#include "polykern/federation/sealing.h"

namespace polykern {
namespace {

class Plain final : public Sealing {
 public:
  ModelShape SealedShape(const ModelShape& shape) const override { return shape; }
  const Updates& Seal(const ModelShape&, const Updates& learnt, Updates&) const override {
    return learnt;
  }
  std::unique_ptr<Opener> NewOpener(const ModelShape&, std::size_t) const override {
    return nullptr;
  }
};

}  // namespace

const Sealing& PlainSealing() {
  static const Plain plain;
  return plain;
}

}  // namespace polykern
