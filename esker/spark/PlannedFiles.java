/*
 * The files of a scan that Python planned, as a relation that Spark scans with its own Parquet reader.
 *
 * Compiled in the driver by the Janino compiler that Spark ships, which knows neither lambdas nor inferred generics. Only
 * the driver ever loads these classes: what reaches an executor is Spark's own file partitions and Spark's own reader.
 */
package esker;

import java.io.ByteArrayInputStream;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.function.BiFunction;
import java.util.zip.InflaterInputStream;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.bytes.BytesUtils;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BindReferences;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.InterpretedPredicate;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.*;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/** Spark's list of files, answered from the plan. */
public class PlannedFiles implements FileIndex {
  private final Path root;
  private final StructType partitions;
  private final boolean hasDeletes;
  private final Configuration conf;
  private final BiFunction planner;
  private final String[] paths;
  private final long[] sizes;
  private final InternalRow[] constants;
  private long bytes = 0;

  /**
   * `listing` is a deflated Arrow stream with the columns path, size and the partition columns; the last of them takes the
   * deletion bits when a query is planned, if there are any. `planner` answers two questions, with bytes or with a text that
   * says what failed: which files may match filters (in JSON), and which rows of files (by ordinal) are dead.
   */
  PlannedFiles(
      String root, byte[] listing, int files, StructType partitions, boolean hasDeletes, Configuration conf,
      BiFunction planner) throws Exception {
    this.root = new Path(root);
    this.partitions = partitions;
    this.hasDeletes = hasDeletes;
    this.conf = conf;
    this.planner = planner;
    paths = new String[files];
    sizes = new long[files];
    constants = new InternalRow[files];
    BufferAllocator allocator = ArrowUtils.rootAllocator().newChildAllocator("esker listing", 0, Long.MAX_VALUE);
    ArrowStreamReader reader =
        new ArrowStreamReader(new InflaterInputStream(new ByteArrayInputStream(listing)), allocator);
    try {
      int at = 0;
      while (reader.loadNextBatch()) at = load(reader, at);
      if (at != files) throw new IllegalStateException("the listing has " + at + " files, not " + files);
    } finally {
      reader.close();
      allocator.close();
    }
  }

  private int load(ArrowStreamReader reader, int at) throws Exception {
    List vectors = reader.getVectorSchemaRoot().getFieldVectors();
    int rows = reader.getVectorSchemaRoot().getRowCount();
    ColumnVector[] columns = new ColumnVector[vectors.size() - 2];
    for (int i = 0; i < columns.length; i++) columns[i] = new ArrowColumnVector((FieldVector) vectors.get(i + 2));
    ColumnVector path = new ArrowColumnVector((FieldVector) vectors.get(0));
    ColumnVector size = new ArrowColumnVector((FieldVector) vectors.get(1));
    ColumnarBatch batch = new ColumnarBatch(columns, rows);
    for (int i = 0; i < rows; i++, at++) {
      paths[at] = path.getUTF8String(i).toString();
      sizes[at] = size.getLong(i);
      constants[at] = batch.getRow(i).copy();
      bytes += sizes[at];
    }
    return at;
  }

  /**
   * Spark does not evaluate partition filters again, so they are evaluated here, by Catalyst itself. Data filters are
   * only hints: Spark checks the rows.
   */
  public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
    BitSet kept = matching(partitionFilters, dataFilters);
    List exact = new ArrayList();
    Iterator filters = partitionFilters.iterator();
    while (filters.hasNext()) exact.add(new FileFilter((Expression) filters.next(), partitions));
    for (int i = kept.nextSetBit(0); i >= 0; i = kept.nextSetBit(i + 1))
      if (!accepted(exact, constants[i])) kept.clear(i);
    InternalRow[] rows = hasDeletes ? withDeletes(kept) : constants;
    List directories = new ArrayList();
    for (int i = kept.nextSetBit(0); i >= 0; i = kept.nextSetBit(i + 1)) directories.add(directory(i, rows[i]));
    return sequence(directories);
  }

  private BitSet matching(Seq partitionFilters, Seq dataFilters) {
    List trees = trees(partitionFilters);
    trees.addAll(trees(dataFilters));
    BitSet kept = new BitSet(paths.length);
    kept.set(0, paths.length);
    if (trees.isEmpty()) return kept;
    String zone = SQLConf.get().sessionLocalTimeZone();
    byte[] answer =
        asked("matching", "{\"zone\":\"" + zone + "\",\"filters\":[" + String.join(",", trees) + "]}");
    if (answer.length != (paths.length + 7) / 8)
      throw new IllegalStateException("the planner answered for another number of files");
    kept.and(BitSet.valueOf(answer));
    return kept;
  }

  /** The constants of the kept files with their deletion bits: for each file a length, zero without deletes, and bytes. */
  private InternalRow[] withDeletes(BitSet kept) {
    try {
      byte[] answer = asked("deletes", Arrays.toString(kept.stream().toArray()));
      ByteBuffer bits = ByteBuffer.wrap(new InflaterInputStream(new ByteArrayInputStream(answer)).readAllBytes());
      bits.order(ByteOrder.LITTLE_ENDIAN);
      InternalRow[] rows = new InternalRow[paths.length];
      for (int i = kept.nextSetBit(0); i >= 0; i = kept.nextSetBit(i + 1)) {
        byte[] dead = new byte[bits.getInt()];
        bits.get(dead);
        rows[i] = constants[i].copy();
        if (dead.length > 0) rows[i].update(partitions.length() - 1, dead);
      }
      if (bits.hasRemaining()) throw new IllegalStateException("the planner answered for another number of files");
      return rows;
    } catch (java.io.IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private byte[] asked(String question, String about) {
    Object answer = planner.apply(question, about);
    if (answer instanceof byte[]) return (byte[]) answer;
    throw new IllegalArgumentException(String.valueOf(answer));
  }

  /** Filters in JSON. One that cannot be told so is left out: it then rules out nothing. */
  public static List trees(Seq filters) {
    List trees = new ArrayList();
    Iterator each = filters.iterator();
    while (each.hasNext()) {
      Expression filter = (Expression) each.next();
      if (SubqueryExpression.hasSubquery(filter)) continue;
      trees.add(((Expression) filter.transformUp(new InSetAsIn())).toJSON());
    }
    return trees;
  }

  private static boolean accepted(List filters, InternalRow row) {
    for (int i = 0; i < filters.size(); i++) if (!((FileFilter) filters.get(i)).accepts(row)) return false;
    return true;
  }

  private PartitionDirectory directory(int i, InternalRow row) {
    List file = new ArrayList();
    file.add(new FileStatusWithMetadata(status(i), scala.collection.immutable.Map$.MODULE$.empty()));
    return new PartitionDirectory(row, sequence(file));
  }

  /** A file of unknown size is looked up, because Spark would read nothing of a file without bytes. */
  private FileStatus status(int i) {
    Path path = new Path(paths[i]);
    try {
      if (sizes[i] <= 0) return path.getFileSystem(conf).getFileStatus(path);
    } catch (java.io.IOException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
    return new FileStatus(sizes[i], false, 1, 128L << 20, 0L, path);
  }

  public Seq rootPaths() {
    return sequence(Arrays.asList(new Object[] {root}));
  }

  public String[] inputFiles() {
    String[] files = new String[paths.length];
    for (int i = 0; i < files.length; i++) files[i] = new Path(paths[i]).toUri().toString();
    return files;
  }

  public void refresh() {}

  public long sizeInBytes() {
    return bytes;
  }

  public StructType partitionSchema() {
    return partitions;
  }

  public String toString() {
    return "PlannedFiles[" + paths.length + " of " + root + "]";
  }

  static Seq sequence(List items) {
    return scala.jdk.javaapi.CollectionConverters.asScala(items).toList();
  }

  /** A partition filter bound to the constants it names. */
  static class FileFilter {
    private final InterpretedPredicate predicate;
    private final int[] ordinals;
    private final DataType[] types;

    FileFilter(Expression filter, StructType partitions) {
      Seq references = filter.references().toSeq();
      ordinals = new int[references.size()];
      types = new DataType[ordinals.length];
      for (int i = 0; i < ordinals.length; i++) {
        ordinals[i] = partitions.fieldIndex(((Attribute) references.apply(i)).name());
        types[i] = partitions.fields()[ordinals[i]].dataType();
      }
      predicate = new InterpretedPredicate(bound(filter, references));
    }

    boolean accepts(InternalRow constants) {
      Object[] values = new Object[ordinals.length];
      for (int i = 0; i < values.length; i++) values[i] = constants.get(ordinals[i], types[i]);
      return predicate.eval(new GenericInternalRow(values));
    }

    /** `package` is a keyword of Java, so what lies in a Scala package object is reached by reflection. */
    private static Expression bound(Expression filter, Seq references) {
      try {
        Class attributes = Class.forName("org.apache.spark.sql.catalyst.expressions.package$AttributeSeq");
        Object input = attributes.getConstructors()[0].newInstance(new Object[] {references});
        Method[] methods = BindReferences.class.getMethods();
        for (int i = 0; i < methods.length; i++)
          if (methods[i].getName().equals("bindReference"))
            return (Expression) methods[i].invoke(null, new Object[] {filter, input, Boolean.FALSE});
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
      throw new IllegalStateException("this Spark has no BindReferences.bindReference");
    }
  }

  /** The values of an InSet are missing from its JSON; those of an In are there. */
  static class InSetAsIn extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof InSet;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      if (!(node instanceof InSet)) return otherwise.apply(node);
      InSet set = (InSet) node;
      List values = new ArrayList();
      Iterator each = set.hset().iterator();
      while (each.hasNext()) values.add(new Literal(each.next(), set.child().dataType()));
      return new org.apache.spark.sql.catalyst.expressions.In(set.child(), sequence(values));
    }
  }

  /**
   * Parquet whose columns have other names in the files than in the query. Catalyst sees the visible names only; they are
   * translated when the reader is built, and that reader is Spark's own.
   */
  public static class MappedParquet extends ParquetFileFormat {
    private final StructType visible;
    private final StructType stored;
    private final boolean byId;

    MappedParquet(StructType visible, StructType stored, boolean byId) {
      this.visible = visible;
      this.stored = stored;
      this.byId = byId;
    }

    public Function1 buildReaderWithPartitionValues(
        SparkSession session, StructType data, StructType partitions, StructType required, Seq filters, Map options,
        Configuration conf) {
      // Parquet's filters go by name, and by id a name in a file says nothing.
      Seq pushed = byId ? sequence(new ArrayList()) : translated(filters);
      conf.setBoolean("spark.sql.parquet.fieldId.read.enabled", byId);
      conf.setBoolean("spark.sql.parquet.fieldId.read.ignoreMissing", false);
      return new ParquetFileFormat().buildReaderWithPartitionValues(
          session, (StructType) translated(data, visible, stored), partitions,
          (StructType) translated(required, visible, stored), pushed, options, conf);
    }

    /** The wanted type, which may be a pruned part of `from`, with the names and ids of `to`. */
    private static DataType translated(DataType wanted, DataType from, DataType to) {
      if (wanted instanceof StructType && from instanceof StructType) {
        StructField[] fields = (StructField[]) ((StructType) wanted).fields().clone();
        for (int i = 0; i < fields.length; i++) {
          int at = position((StructType) from, fields[i].name());
          if (at < 0) continue;  // Spark's own: the row index
          StructField target = ((StructType) to).fields()[at];
          DataType type =
              translated(fields[i].dataType(), ((StructType) from).fields()[at].dataType(), target.dataType());
          fields[i] = new StructField(target.name(), type, true, target.metadata());
        }
        return new StructType(fields);
      }
      if (wanted instanceof ArrayType && from instanceof ArrayType) {
        ArrayType array = (ArrayType) wanted;
        return new ArrayType(
            translated(array.elementType(), ((ArrayType) from).elementType(), ((ArrayType) to).elementType()),
            array.containsNull());
      }
      if (wanted instanceof MapType && from instanceof MapType) {
        MapType map = (MapType) wanted;
        return new MapType(
            translated(map.keyType(), ((MapType) from).keyType(), ((MapType) to).keyType()),
            translated(map.valueType(), ((MapType) from).valueType(), ((MapType) to).valueType()),
            map.valueContainsNull());
      }
      return wanted instanceof NullType ? to : wanted;
    }

    private static int position(StructType type, String name) {
      String[] names = type.fieldNames();
      for (int i = 0; i < names.length; i++) if (names[i].equals(name)) return i;
      return -1;
    }

    /** The filters that can be told in the files' names. Spark checks all of them again on the rows. */
    private Seq translated(Seq filters) {
      List told = new ArrayList();
      Iterator each = filters.iterator();
      while (each.hasNext()) {
        Filter filter = translated((Filter) each.next());
        if (filter != null) told.add(filter);
      }
      return sequence(told);
    }

    private Filter translated(Filter f) {
      if (f instanceof And) {
        Filter left = translated(((And) f).left()), right = translated(((And) f).right());
        return left == null || right == null ? null : new And(left, right);
      }
      if (f instanceof Or) {
        Filter left = translated(((Or) f).left()), right = translated(((Or) f).right());
        return left == null || right == null ? null : new Or(left, right);
      }
      if (f instanceof Not) {
        Filter child = translated(((Not) f).child());
        return child == null ? null : new Not(child);
      }
      String[] names = f.references();
      String name = names.length == 1 ? stored(names[0]) : null;
      if (name == null) return null;
      if (f instanceof IsNull) return new IsNull(name);
      if (f instanceof IsNotNull) return new IsNotNull(name);
      if (isFloating(names[0]) || !isWholeMillis(f)) return null;
      if (f instanceof EqualTo) return new EqualTo(name, ((EqualTo) f).value());
      if (f instanceof EqualNullSafe) return new EqualNullSafe(name, ((EqualNullSafe) f).value());
      if (f instanceof GreaterThan) return new GreaterThan(name, ((GreaterThan) f).value());
      if (f instanceof GreaterThanOrEqual) return new GreaterThanOrEqual(name, ((GreaterThanOrEqual) f).value());
      if (f instanceof LessThan) return new LessThan(name, ((LessThan) f).value());
      if (f instanceof LessThanOrEqual) return new LessThanOrEqual(name, ((LessThanOrEqual) f).value());
      if (f instanceof In) return new In(name, ((In) f).values());
      if (f instanceof StringStartsWith) return new StringStartsWith(name, ((StringStartsWith) f).value());
      return null;
    }

    /**
     * To Spark NaN is above all numbers and -0.0 equals 0.0. To Parquet NaN is in no bounds, and the two zeros are two values:
     * by its filters rows would be lost.
     */
    private boolean isFloating(String column) {
      Seq parts = CatalystSqlParser$.MODULE$.parseMultipartIdentifier(column);
      DataType type = visible;
      for (int i = 0; i < parts.size(); i++)
        type = ((StructType) type).fields()[position((StructType) type, (String) parts.apply(i))].dataType();
      return type.equals(DataTypes.FloatType) || type.equals(DataTypes.DoubleType);
    }

    /** Whether no time in the filter has digits below the millisecond: for a file in milliseconds Spark cuts them off. */
    private static boolean isWholeMillis(Filter f) {
      Iterator values = ((scala.Product) f).productIterator();
      while (values.hasNext()) {
        Object value = values.next();
        Object[] each = value instanceof Object[] ? (Object[]) value : new Object[] {value};
        for (int i = 0; i < each.length; i++) {
          int nanos = 0;
          if (each[i] instanceof java.sql.Timestamp) nanos = ((java.sql.Timestamp) each[i]).getNanos();
          if (each[i] instanceof java.time.Instant) nanos = ((java.time.Instant) each[i]).getNano();
          if (each[i] instanceof java.time.LocalDateTime) nanos = ((java.time.LocalDateTime) each[i]).getNano();
          if (nanos % 1000000 != 0) return false;
        }
      }
      return true;
    }

    /** The files' name for a filter's column, which may lead into structs; null where there is none. */
    private String stored(String column) {
      Seq parts = CatalystSqlParser$.MODULE$.parseMultipartIdentifier(column);
      DataType from = visible, to = stored;
      StringBuilder name = new StringBuilder();
      for (int i = 0; i < parts.size(); i++) {
        int at = from instanceof StructType ? position((StructType) from, (String) parts.apply(i)) : -1;
        if (at < 0) return null;
        if (i > 0) name.append(".");
        name.append(QuotingUtils.quoteIfNeeded(((StructType) to).fields()[at].name()));
        from = ((StructType) from).fields()[at].dataType();
        to = ((StructType) to).fields()[at].dataType();
      }
      return name.toString();
    }
  }

  /** Where Python comes in: an object, because a Python object can be an argument of a call but not of reflection. */
  public static class Door {
    public HadoopFsRelation relation(
        SparkSession session, String root, byte[] listing, int files, StructType partitions, StructType visible,
        StructType stored, boolean byId, boolean hasDeletes, Map options, BiFunction planner) throws Exception {
      Configuration conf = session.sessionState().newHadoopConf();
      PlannedFiles index = new PlannedFiles(root, listing, files, partitions, hasDeletes, conf, planner);
      return new HadoopFsRelation(
          index, partitions, visible, scala.Option$.MODULE$.empty(), new MappedParquet(visible, stored, byId), options,
          session);
    }

    /**
     * Four bytes of a binary column from an offset on, as a number. No function of SQL reads a byte without a copy;
     * this one is in the Parquet library, so that executors have it.
     */
    public Column word(Column bytes, Column offset) {
      List arguments = Arrays.asList(
          new Object[] {ExpressionUtils.expression(bytes), ExpressionUtils.expression(offset)});
      return ExpressionUtils.column(new StaticInvoke(
          BytesUtils.class, DataTypes.IntegerType, "readIntLittleEndian", sequence(arguments),
          sequence(new ArrayList()), true, true, true, scala.Option$.MODULE$.empty()));
    }
  }
}
