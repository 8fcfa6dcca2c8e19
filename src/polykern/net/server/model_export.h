#pragma once

#include "polykern/net/exported_model.h"
#include "polykern/net/store/store.h"

namespace polykern {

/// The newest model of a store, with the weights that its clients have told of. Throws Error if no
/// step is committed yet.
ExportedModel ExportModel(const StoreContents& store);

}  // namespace polykern
