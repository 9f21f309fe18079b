# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The columns that are made of properties, for the compiled kernel.

    name 01 value 02 name 01 value ──> Pair, Pair ──> map, tags, keys, ids

Rule: as ``storefmt.formats.properties.parse_properties``: a part without a name, a value or the
separator is dropped, the last of equal names wins and stays at the place of the first, and
bytes that are not UTF-8 become U+FFFD. The time is linear in the number of names.
"""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free, realloc

from storefmt.formats import javahash, properties

cdef object tags_code = javahash.tags_code
PROPERTY_COLUMNS = frozenset(
    ("tags", "tags_code", "keys", "unique_key", "producer_group", "properties")
)

cdef enum:
    BLANK = 32
    NAME_END = 1
    PART_END = 2


cdef Part part_of(bytes text):
    cdef Part part
    part.at, part.size = text, len(text)
    return part


cdef bytes TAGS_NAME = properties.TAGS.encode()
cdef bytes KEYS_NAME = properties.KEYS.encode()
cdef bytes UNIQUE_KEY_NAME = properties.UNIQUE_KEY.encode()
cdef bytes PRODUCER_GROUP_NAME = properties.PRODUCER_GROUP.encode()
cdef Part NOWHERE = part_of(b"")
NOWHERE.at = NULL
cdef Part TAGS = part_of(TAGS_NAME)
cdef Part KEYS = part_of(KEYS_NAME)
cdef Part UNIQUE_KEY = part_of(UNIQUE_KEY_NAME)
cdef Part PRODUCER_GROUP = part_of(PRODUCER_GROUP_NAME)


cdef int role_of(const Part *name) noexcept:
    if same(name, &TAGS):
        return TAGS_COLUMN
    if same(name, &KEYS):
        return KEYS_COLUMN
    if same(name, &UNIQUE_KEY):
        return UNIQUE_KEY_COLUMN
    return PRODUCER_GROUP_COLUMN if same(name, &PRODUCER_GROUP) else NO_COLUMN


cdef class Pairs:
    """The pairs of one record after another.

    Most records have the names of the one before, in the same order: its ``shape``. While
    that holds, names are compared, not searched for, and none can come twice.
    """

    def __dealloc__(self):
        free(self.found)

    cdef int find(self, Part text) except -1:
        """Find the pairs of ``text``, which must stay valid until they have been used."""
        cdef const uint8_t *at
        cdef const uint8_t *end
        cdef int64_t size, name_size
        cdef Pair *pair
        if not is_text(text):
            self.replaced = text.at[:text.size].decode("utf-8", "replace").encode()
            text.at, text.size = self.replaced, len(self.replaced)
        self.count, self.seen, end = 0, None, text.at + text.size
        at = self.find_expected(text.at, end)
        if at >= end:
            return 0
        while at < end:
            size = size_before(PART_END, at, end)
            name_size = size_before(NAME_END, at, at + size)
            if 0 < name_size < size - 1:
                if self.count == self.room:
                    self.grow()
                # Field by field, and no Pair by value: a wide load of what was stored in
                # halves a moment ago waits for it.
                pair = &self.found[self.count]
                pair.name.at, pair.name.size = at, name_size
                pair.value.at, pair.value.size = at + name_size + 1, size - name_size - 1
                self.keep(pair)
            at += size + 1
        return self.expect()

    cdef const uint8_t *find_expected(self, const uint8_t *at, const uint8_t *end) except NULL:
        """Find pairs as long as their names are those of the shape; return where that ends."""
        cdef const Name *name
        cdef Pair *pair
        cdef int64_t size
        while self.count < self.shape_count:
            name = &self.shape[self.count]
            if end - at <= name.size or memcmp(at, name.text, name.size):
                return at
            size = size_before(PART_END, at + name.size, end)
            if size == 0:
                return at
            if self.count == self.room:
                self.grow()
            pair = &self.found[self.count]
            pair.name.at, pair.name.size = at, name.size - 1
            pair.value.at, pair.value.size = at + name.size, size
            pair.role = name.role
            self.count += 1
            at += name.size + size + 1
        return at

    cdef int expect(self) except -1:
        """Adopt the shape of the record just read, or no shape if a name is too long."""
        cdef int64_t number
        cdef const Pair *pair
        self.shape_count = 0
        if self.count > NAMES_COMPARED:
            return 0
        for number in range(self.count):
            pair = &self.found[number]
            if pair.name.size > NAME_KEPT_MAX:
                return 0
            memcpy(self.shape[number].text, pair.name.at, pair.name.size)
            self.shape[number].text[pair.name.size] = NAME_END
            self.shape[number].size, self.shape[number].role = pair.name.size + 1, pair.role
            self.shape_count += 1
        return 0

    cdef int keep(self, Pair *pair) except -1:
        """Count the pair that lies after the others, or give its value to one of that name."""
        cdef int64_t number
        cdef const Part *name
        if self.count < NAMES_COMPARED:
            for number in range(self.count):
                if same(&self.found[number].name, &pair.name):
                    self.found[number].value = pair.value
                    return 0
        else:
            if self.seen is None:
                self.seen = {}
                for number in range(self.count):
                    name = &self.found[number].name
                    self.seen[name.at[:name.size]] = number
            number = self.seen.setdefault(pair.name.at[:pair.name.size], self.count)
            if number < self.count:
                self.found[number].value = pair.value
                return 0
        pair.role = role_of(&pair.name)
        self.count += 1
        return 0

    cdef int grow(self) except -1:
        cdef int64_t room = max(2 * self.room, NAMES_COMPARED)
        cdef Pair *pairs = <Pair *> realloc(self.found, room * sizeof(Pair))
        if pairs == NULL:
            raise MemoryError(f"no memory for {room} properties of a record")
        self.found, self.room = pairs, room
        return 0


cdef class PropertyColumns:
    """The columns that are made of properties, of up to ``rows_max`` records.

    ``made`` holds their buffers by column, ``inner`` the texts within lists and maps.
    """

    def __cinit__(self, names, int64_t rows_max, dict rooms):
        self.pairs, self.made, self.inner = Pairs(), {}, {}
        self.tags = self.one(Values, "tags", names, rows_max, rooms)
        self.unique_key = self.one(Values, "unique_key", names, rows_max, rooms)
        self.producer_group = self.one(Values, "producer_group", names, rows_max, rooms)
        if "tags_code" in names:
            self.tags_codes = self.made["tags_code"] = Buffer(8 * rows_max)
        self.keys = self.one(Lists, "keys", names, rows_max, rooms)
        if self.keys is not None:
            self.words = self.inner["word"] = Texts(0, rooms.get("word", 0))
            self.made["keys"] = self.keys, self.words
        self.maps = self.one(Lists, "properties", names, rows_max, rooms)
        if self.maps is not None:
            self.names = self.inner["name"] = Texts(0, rooms.get("name", 0))
            self.map_values = self.inner["value"] = Texts(0, rooms.get("value", 0))
            self.made["properties"] = self.maps, self.names, self.map_values

    cdef object one(self, kind, name, names, int64_t rows_max, dict rooms):
        if name not in names:
            return None
        self.made[name] = kind(rows_max, rooms.get(name, 0))
        return self.made[name]

    cdef int add(self, Part text) except -1:
        cdef const Part *values[ROLES_COUNT]
        cdef const Pair *pair
        cdef int64_t number
        for number in range(ROLES_COUNT):
            values[number] = &NOWHERE
        self.pairs.find(text)
        for number in range(self.pairs.count):
            pair = &self.pairs.found[number]
            values[pair.role] = &pair.value
            if self.maps is not None:
                self.names.add(&pair.name)
                self.map_values.add(&pair.value)
        if self.maps is not None:
            self.maps.end(self.pairs.count)
        if self.tags is not None:
            self.tags.add_or_null(values[TAGS_COLUMN])
        if self.tags_codes is not None:
            (<int64_t *> self.tags_codes.reserve(8))[0] = tag_hash(values[TAGS_COLUMN])
            self.tags_codes.size += 8
        if self.unique_key is not None:
            self.unique_key.add_or_null(values[UNIQUE_KEY_COLUMN])
        if self.producer_group is not None:
            self.producer_group.add_or_null(values[PRODUCER_GROUP_COLUMN])
        if self.keys is not None:
            self.add_words(values[KEYS_COLUMN])
        return 0

    cdef int add_words(self, const Part *text) except -1:
        cdef const uint8_t *end = text.at + text.size
        cdef Part word
        cdef int64_t count = 0
        word.at = text.at
        while word.at < end:
            word.size = size_before(BLANK, word.at, end)
            if word.size:
                self.words.add(&word)
                count += 1
            word.at += word.size + 1
        return self.keys.end(count)


cdef int64_t tag_hash(const Part *tag) except? -1:
    cdef uint32_t value = 0
    cdef int64_t pos
    if not is_ascii(tag[0]):
        # Java hashes UTF-16 units, not bytes.
        return tags_code(tag.at[:tag.size].decode())
    for pos in range(tag.size):
        value = 31 * value + tag.at[pos]
    return <int32_t> value


cdef bint is_text(Part part) except -1:
    """Return whether the bytes are UTF-8."""
    if is_ascii(part):
        return True
    try:
        PyUnicode_DecodeUTF8(<const char *> part.at, part.size, NULL)
    except UnicodeDecodeError:
        return False
    return True
