/* All of the runtime, as one shared library. */
#include "steps/steps.c"
#include "contacts/contacts.c"

/* Of the structures, in the order of the headers, for whoever reads them. */
EXPORT const long runtime_sizes[] = {sizeof(Sampler), sizeof(Crossing), sizeof(Run), sizeof(Point), sizeof(Modes), sizeof(Sizes), sizeof(Contacts)};
